package query

import (
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// argument returns one argument of a field.
func argument(field *ast.Field, name string, variables map[string]any) any {
	if given := field.Arguments.ForName(name); given != nil && given.Value.Kind == ast.Variable {
		if value, ok := variables[given.Value.Raw]; ok {
			return value
		}
	}
	return field.ArgumentMap(variables)[name]
}

// arguments are a field's arguments, from its operation and the variables.
type arguments map[string]any

// makeFilter turns a list's arguments into its filter. An error leaves them to the generated executor.
type makeFilter func(a arguments) (pg.Filter, error)

// text returns an optional text or enum value; nil when it is not given.
func text[T ~string](a arguments, name string) (*T, error) {
	if a[name] == nil {
		return nil, nil
	}
	given, err := graphql.UnmarshalString(a[name])
	value := T(given)
	return &value, err
}

// id returns an optional id that must not be empty; nil when it is not given.
func id(a arguments, name string) (*string, error) {
	if a[name] == nil {
		return nil, nil
	}
	given, err := graphql.UnmarshalID(a[name])
	if given == "" {
		return nil, errUnplanned
	}
	return &given, err
}

// truth returns an optional truth value; nil when it is not given.
func truth(a arguments, name string) (*bool, error) {
	if a[name] == nil {
		return nil, nil
	}
	given, err := graphql.UnmarshalBoolean(a[name])
	return &given, err
}

// input returns an optional input object; nil when it is not given.
func input[T any](a arguments, name string) (*T, error) {
	if a[name] == nil {
		return nil, nil
	}
	given, err := json.Marshal(a[name])
	if err != nil {
		return nil, err
	}
	value := new(T)
	return value, json.Unmarshal(given, value)
}

// page returns which page is wanted; it is valid.
func (a arguments) page() (page model.PageArgs, err error) {
	if a["last"] != nil || a["before"] != nil {
		return page, errUnplanned // Pages back are rare, and their rows come the other way round.
	}
	page.First = model.DefaultPageSize
	if a["first"] != nil {
		if page.First, err = graphql.UnmarshalInt32(a["first"]); err != nil {
			return page, err
		}
	}
	if page.After, err = text[string](a, "after"); err != nil {
		return page, err
	}
	if a["offset"] != nil {
		offset, err := graphql.UnmarshalInt32(a["offset"])
		if err != nil {
			return page, err
		}
		page.Offset = &offset
	}
	return page, page.Validate()
}

func agentsThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.AgentFilter](a, "filter")
	if err != nil {
		return nil, err
	}
	by, err := text[model.AgentOrder](a, "orderBy")
	if err != nil {
		return nil, err
	}
	if by != nil && *by != model.AgentOrderCreatedAt {
		return nil, errUnplanned // Plans know cursors of one order.
	}
	if wanted != nil && (wanted.NameContains != nil || len(wanted.Tags) > 0) {
		return nil, errUnplanned // A plan of Postgres for any name or tag would read all agents that have it.
	}
	return db.AgentsThat(wanted), wanted.Validate()
}

func auditEventsThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.AuditEventFilter](a, "filter")
	return db.AuditEventsThat(wanted), err
}

func deliveriesThat(a arguments) (pg.Filter, error) {
	status, err := text[model.WebhookDeliveryStatus](a, "status")
	return db.DeliveriesThat(status), err
}

func campaignsThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.CampaignFilter](a, "filter")
	if err == nil {
		err = wanted.Validate()
	}
	return db.CampaignsThat(wanted), err
}

func namedThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.NameFilter](a, "filter")
	if err == nil {
		err = wanted.Validate()
	}
	return db.NamedThat(wanted), err
}

func ofAgent(a arguments) (pg.Filter, error) {
	agent, err := id(a, "agentId")
	return db.OfAgent(agent), err
}

func chatsThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.SimulationChatFilter](a, "filter")
	if err == nil {
		err = wanted.Validate()
	}
	return db.ChatsThat(wanted), err
}

func chatsOfAgent(a arguments) (pg.Filter, error) {
	filter, err := chatsThat(a)
	if err != nil {
		return nil, err
	}
	of, err := ofAgent(a)
	return append(filter, of...), err
}

func documentsThat(a arguments) (pg.Filter, error) {
	dataset, err := id(a, "datasetId")
	if err != nil {
		return nil, err
	}
	wanted, err := input[model.DocumentFilter](a, "filter")
	if err != nil {
		return nil, err
	}
	if wanted != nil && (wanted.NameContains != nil || len(wanted.Statuses) > 1) {
		return nil, errUnplanned // Which index is the better one depends on the values.
	}
	return append(db.OfDataset(dataset), db.DocumentsThat(wanted)...), wanted.Validate()
}

func testsThat(a arguments) (pg.Filter, error) {
	folder, err := id(a, "folderId")
	if err != nil {
		return nil, err
	}
	atRoot, err := truth(a, "atRoot")
	if err != nil {
		return nil, err
	}
	kind, err := text[model.AgentTestKind](a, "kind")
	if err != nil {
		return nil, err
	}
	more, err := input[model.AgentTestFilter](a, "filter")
	if err != nil {
		return nil, err
	}
	wanted, err := model.NewAgentTestFilter(folder, atRoot != nil && *atRoot, kind, more)
	return db.TestsThat(wanted), err
}

func testsOfAgent(a arguments) (pg.Filter, error) {
	filter, err := testsThat(a)
	if err != nil {
		return nil, err
	}
	of, err := ofAgent(a)
	return append(filter, of...), err
}

func executionsThat(a arguments) (pg.Filter, error) {
	wanted, err := input[model.AgentTestExecutionFilter](a, "filter")
	if err == nil {
		err = wanted.Validate()
	}
	return db.ExecutionsThat(wanted), err
}

func executionsOfAgent(a arguments) (pg.Filter, error) {
	filter, err := executionsThat(a)
	if err != nil {
		return nil, err
	}
	of, err := ofAgent(a)
	return append(filter, of...), err
}

func runsThat(a arguments) (pg.Filter, error) {
	if a["agentId"] != nil {
		return nil, errUnplanned // How many runs an agent has decides how they are best read.
	}
	var wanted model.AgentTestRunFilter
	var err error
	if wanted.ExecutionID, err = id(a, "executionId"); err != nil {
		return nil, err
	}
	if wanted.TestID, err = id(a, "testId"); err != nil {
		return nil, err
	}
	if wanted.Status, err = text[model.AgentTestRunStatus](a, "status"); err != nil {
		return nil, err
	}
	statuses, err := input[[]model.AgentTestRunStatus](a, "statuses")
	if err != nil {
		return nil, err
	}
	if statuses != nil {
		if len(*statuses) > 1 {
			return nil, errUnplanned // as for documents
		}
		wanted.Statuses = *statuses
	}
	return db.RunsThat(wanted), wanted.Validate()
}

func itemsThat(a arguments) (pg.Filter, error) {
	status, err := text[model.CampaignItemStatus](a, "runningStatus")
	if err != nil {
		return nil, err
	}
	isArchived, err := truth(a, "isArchived")
	if err != nil {
		return nil, err
	}
	more, err := input[model.CampaignItemFilter](a, "filter")
	if err != nil {
		return nil, err
	}
	if more != nil && more.PhoneNumberPrefix != nil {
		return nil, errUnplanned // as for the names of agents
	}
	return db.ItemsThat(status, isArchived, more), more.Validate()
}

func itemsOfCampaign(a arguments) (pg.Filter, error) {
	filter, err := itemsThat(a)
	if err != nil {
		return nil, err
	}
	campaign, err := id(a, "campaignId")
	return append(filter, db.OfCampaign(campaign)...), err
}
