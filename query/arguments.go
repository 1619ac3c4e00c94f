package query

import (
	"cmp"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func argument(field *ast.Field, name string, variables map[string]any) any {
	if given := field.Arguments.ForName(name); given != nil && given.Value.Kind == ast.Variable {
		if value, ok := variables[given.Value.Raw]; ok {
			return value
		}
	}
	return field.ArgumentMap(variables)[name]
}

// arguments are a field's arguments, with the values of variables.
type arguments map[string]any

// argumentParser parses arguments. It keeps the first error.
type argumentParser struct {
	given arguments
	err   error
}

// makeFilter turns a list's arguments into its filter. If that fails, the generated executor answers the query.
type makeFilter func(r *argumentParser) pg.Filter

func (m makeFilter) parse(a arguments) (pg.Filter, error) {
	r := argumentParser{given: a}
	filter := m(&r)
	return filter, r.err
}

// check records an error, unless there was one before.
func (r *argumentParser) check(err error) { r.err = cmp.Or(r.err, err) }

// optional returns the parsed argument, or nil when it is not given.
func optional[T any](r *argumentParser, name string, parse func(given any) (T, error)) *T {
	if r.given[name] == nil {
		return nil
	}
	value, err := parse(r.given[name])
	r.check(err)
	return &value
}

// text returns an optional text or enum value.
func text[T ~string](r *argumentParser, name string) *T {
	return optional(r, name, func(given any) (T, error) {
		value, err := graphql.UnmarshalString(given)
		return T(value), err
	})
}

// id returns an optional id that must not be empty.
func id(r *argumentParser, name string) *string {
	return optional(r, name, func(given any) (string, error) {
		value, err := graphql.UnmarshalID(given)
		if value == "" {
			return "", errUnplanned
		}
		return value, err
	})
}

// input returns an optional input object.
func input[T any](r *argumentParser, name string) *T {
	return optional(r, name, func(given any) (value T, err error) {
		object, err := json.Marshal(withEmptyLists(given))
		if err == nil {
			err = json.Unmarshal(object, &value)
		}
		return value, err
	})
}

// withEmptyLists returns a value in which empty lists are not nil. gqlparser returns nil for an empty list in the text
// of an operation.
func withEmptyLists(given any) any {
	switch v := given.(type) {
	case []any:
		if v == nil {
			return []any{}
		}
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, value := range v {
			members[name] = withEmptyLists(value)
		}
		return members
	}
	return given
}

// filterOf returns the optional argument "filter", validated.
func filterOf[T any, P interface {
	*T
	Validate() error
}](r *argumentParser) P {
	wanted := P(input[T](r, "filter"))
	r.check(wanted.Validate())
	return wanted
}

// page returns the validated arguments of a page of the table's rows.
func (a arguments) page(table string) (page model.PageArgs, err error) {
	if a["last"] != nil || a["before"] != nil {
		return page, errUnplanned // plans do not support pages from the end of a list
	}
	r := argumentParser{given: a}
	page.First, page.Table = model.DefaultPageSize, table
	if first := optional(&r, "first", graphql.UnmarshalInt32); first != nil {
		page.First = *first
	}
	page.After = text[string](&r, "after")
	page.Offset = optional(&r, "offset", graphql.UnmarshalInt32)
	r.check(page.Validate())
	return page, r.err
}

func agentsThat(r *argumentParser) pg.Filter {
	wanted := filterOf[model.AgentFilter](r)
	if by := text[model.AgentOrder](r, "orderBy"); by != nil && *by != model.AgentOrderCreatedAt {
		r.check(errUnplanned) // plans support only the cursors of the default order
	}
	if wanted != nil && (wanted.NameContains != nil || len(wanted.Tags) > 0) {
		r.check(errUnplanned) // a generic plan of Postgres would read all agents with the name or tag
	}
	return db.AgentsMatching(wanted)
}

func auditEventsThat(r *argumentParser) pg.Filter {
	return db.AuditEventsMatching(input[model.AuditEventFilter](r, "filter"))
}

func deliveriesThat(r *argumentParser) pg.Filter {
	return db.DeliveriesWithStatus(text[model.WebhookDeliveryStatus](r, "status"))
}

func campaignsThat(r *argumentParser) pg.Filter {
	return db.CampaignsMatching(filterOf[model.CampaignFilter](r))
}

func namedThat(r *argumentParser) pg.Filter { return db.NamesMatching(filterOf[model.NameFilter](r)) }

func ofAgent(r *argumentParser) pg.Filter { return db.WhereAgent(id(r, "agentId")) }

func chatsThat(r *argumentParser) pg.Filter {
	return db.ChatsMatching(filterOf[model.SimulationChatFilter](r))
}

func chatsOfAgent(r *argumentParser) pg.Filter { return append(chatsThat(r), ofAgent(r)...) }

func documentsThat(r *argumentParser) pg.Filter {
	wanted := filterOf[model.DocumentFilter](r)
	if wanted != nil && (wanted.NameContains != nil || len(wanted.Statuses) > 1) {
		r.check(errUnplanned) // the best index depends on the values
	}
	return append(db.WhereDataset(id(r, "datasetId")), db.DocumentsMatching(wanted)...)
}

func testsThat(r *argumentParser) pg.Filter {
	atRoot := optional(r, "atRoot", graphql.UnmarshalBoolean)
	wanted, err := model.NewAgentTestFilter(id(r, "folderId"), atRoot != nil && *atRoot,
		text[model.AgentTestKind](r, "kind"), input[model.AgentTestFilter](r, "filter"))
	r.check(err)
	return db.TestsMatching(wanted)
}

func testsOfAgent(r *argumentParser) pg.Filter { return append(testsThat(r), ofAgent(r)...) }

func labelsOfAgent(r *argumentParser) pg.Filter {
	return db.CriterionLabelsOfAgent(orNone(id(r, "agentId")))
}

func executionsThat(r *argumentParser) pg.Filter {
	return db.ExecutionsMatching(filterOf[model.AgentTestExecutionFilter](r))
}

func executionsOfAgent(r *argumentParser) pg.Filter { return append(executionsThat(r), ofAgent(r)...) }

func runsThat(r *argumentParser) pg.Filter {
	wanted := model.AgentTestRunFilter{ExecutionID: id(r, "executionId"), TestID: id(r, "testId"),
		Status: text[model.AgentTestRunStatus](r, "status")}
	if statuses := input[[]model.AgentTestRunStatus](r, "statuses"); statuses != nil {
		wanted.Statuses = *statuses
	}
	if r.given["agentId"] != nil || len(wanted.Statuses) > 1 {
		r.check(errUnplanned) // the best index depends on the agent's number of runs, and on the statuses
	}
	r.check(wanted.Validate())
	return db.RunsMatching(wanted)
}

func itemsThat(r *argumentParser) pg.Filter {
	more := filterOf[model.CampaignItemFilter](r)
	if more != nil && (more.PhoneNumberPrefix != nil || more.AfterVersion != nil) {
		r.check(errUnplanned) // a generic plan of Postgres does not know the value, and would read all items
	}
	return db.ItemsMatching(text[model.CampaignItemStatus](r, "runningStatus"),
		optional(r, "isArchived", graphql.UnmarshalBoolean), more)
}

func itemsOfCampaign(r *argumentParser) pg.Filter {
	return append(itemsThat(r), db.WhereCampaign(id(r, "campaignId"))...)
}
