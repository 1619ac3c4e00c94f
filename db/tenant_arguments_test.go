package db_test

import (
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// arguments returns values for a parameter. If the parameter has ids, the first value has only ids of the fixture own.
// Each further value has ids of the fixture other. known is false for an unknown type.
func arguments(parameter reflect.Type, own, other fixture) (values []any, known bool) {
	switch parameter {
	case reflect.TypeFor[string]():
		for _, id := range other.ids {
			values = append(values, id)
		}
		slices.SortFunc(values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		return append([]any{own.ids["AgentID"]}, values...), true
	case reflect.TypeFor[[]byte]():
		return []any{own.tokenHash, other.tokenHash}, true
	case reflect.TypeFor[*string]():
		id := other.ids["AgentID"]
		return []any{(*string)(nil), &id}, true
	case reflect.TypeFor[[]string]():
		values = []any{[]string{}}
		for ids := range slices.Chunk(slices.Sorted(maps.Values(other.ids)), 4) { // every method accepts 4
			values = append(values, ids)
		}
		return values, true
	case reflect.TypeFor[pg.Rows]():
		return []any{db.AgentRows, db.ToolsOfAgents}, true
	case reflect.TypeFor[pg.List]():
		return []any{db.TestsOfAgents, db.AgentsOfTools}, true
	case reflect.TypeFor[model.AgentTestCorrection]():
		return []any{model.AgentTestCorrectionHolm}, true
	case reflect.TypeFor[pg.Filter]():
		return []any{pg.Filter(nil)}, true
	case reflect.TypeFor[*model.ToolEndpoint]():
		return []any{&model.ToolEndpoint{}}, true
	case reflect.TypeFor[[]model.McpOffer]():
		return []any{[]model.McpOffer{}}, true
	case reflect.TypeFor[model.PageArgs]():
		return []any{model.PageArgs{First: 100}}, true
	case reflect.TypeFor[*model.AgentTestKind](), reflect.TypeFor[*model.AgentTestRunStatus]():
		return []any{reflect.Zero(parameter).Interface()}, true
	case reflect.TypeFor[*model.AgentTestRun]():
		run := func(owner fixture) *model.AgentTestRun {
			return &model.AgentTestRun{
				ID: owner.ids["RunID"], ExecutionID: owner.ids["ExecutionID"], Claim: 1, Status: model.AgentTestRunStatusPassed,
			}
		}
		return []any{run(own), run(other)}, true
	case reflect.TypeFor[[]*model.AgentTestRun]():
		runs := func(owner fixture) []*model.AgentTestRun {
			return []*model.AgentTestRun{{ID: owner.ids["RunID"], Claim: 1}}
		}
		return []any{runs(own), runs(other)}, true
	case reflect.TypeFor[[]db.AgentVersion]():
		versions := func(owner fixture) []db.AgentVersion {
			return []db.AgentVersion{{AgentID: owner.ids["AgentID"], Version: 1}}
		}
		return []any{versions(own), versions(other)}, true
	case reflect.TypeFor[*model.BlameSearch]():
		return []any{blameSearchOf(own.ids["TestID"], own.mark), blameSearchOf(other.ids["TestID"], own.mark)}, true
	case reflect.TypeFor[*model.AgentFilter](), reflect.TypeFor[*model.AuditEventFilter](),
		reflect.TypeFor[*model.CampaignFilter](),
		reflect.TypeFor[*model.SimulationChatFilter](),
		reflect.TypeFor[*model.CampaignItemStatus](), reflect.TypeFor[*bool]():
		return []any{reflect.Zero(parameter).Interface()}, true
	case reflect.TypeFor[model.DateBound]():
		return []any{model.DateBound{At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), IsDay: true}}, true
	case reflect.TypeFor[model.ConsumptionAxes]():
		return []any{model.AllConsumptionAxes}, true
	case reflect.TypeFor[model.ConsumptionRange]():
		return []any{model.ConsumptionRange{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), End: time.Now()}}, true
	case reflect.TypeFor[*model.Document]():
		claimed := func(owner fixture) *model.Document {
			return &model.Document{ID: owner.ids["IndexedID"], DatasetID: owner.ids["DatasetID"],
				IndexingID: owner.ids["IndexingID"], Claim: 1, Error: new("New")}
		}
		return []any{claimed(own), claimed(other)}, true
	case reflect.TypeFor[model.ComparedVariants]():
		return []any{model.ComparedVariants{}}, true
	case reflect.TypeFor[io.ReadSeeker]():
		return []any{strings.NewReader("New")}, true
	case reflect.TypeFor[[]*model.Chunk]():
		return []any{[]*model.Chunk{{Content: "New", Words: wordsOf("new")}}}, true
	case reflect.TypeFor[[]model.Word]():
		return []any{wordsOf(strings.ToLower(other.mark))}, true
	case reflect.TypeFor[[]float32]():
		return []any{[]float32{1, 0}}, true
	case reflect.TypeFor[[][]string]():
		return []any{[][]string{{other.mark}}}, true
	case reflect.TypeFor[[]db.WeighedToken]():
		return []any{[]db.WeighedToken{{Terms: []string{other.mark}, Weight: 1}}}, true
	case reflect.TypeFor[int]():
		return []any{10}, true
	case reflect.TypeFor[time.Time]():
		return []any{time.Now()}, true
	case reflect.TypeFor[*model.Campaign]():
		campaign := func(owner fixture) *model.Campaign {
			return &model.Campaign{ID: model.NewID("campaign"), AgentID: owner.ids["AgentID"], Name: "New",
				Status: model.CampaignStatusDraft, MaxAttempts: 1}
		}
		return []any{campaign(own), campaign(other)}, true
	case reflect.TypeFor[[]*model.CampaignItem](), reflect.TypeFor[[]*model.CampaignItemEvent]():
		return []any{reflect.Zero(parameter).Interface()}, true
	case reflect.TypeFor[[]time.Time]():
		return []any{[]time.Time{time.Now()}}, true
	case reflect.TypeFor[db.AgentTestHistory]():
		folder := func(owner fixture) db.AgentTestHistory {
			return db.AgentTestHistory{Folders: []*model.AgentTestFolder{{ID: model.NewID("folder"),
				AgentID: owner.ids["AgentID"], Name: "New", Color: "#112233"}}}
		}
		return []any{folder(own), folder(other)}, true
	case reflect.TypeFor[model.CreateAgentTestsInput]():
		create := func(agentID, folderID string) model.CreateAgentTestsInput {
			in := simulationInput(agentID)
			in.FolderID = &folderID
			return model.CreateAgentTestsInput{Tests: []*model.CreateAgentTestInput{{Simulation: &in}}}
		}
		return []any{
			create(own.ids["AgentID"], own.ids["FolderID"]), create(other.ids["AgentID"], own.ids["FolderID"]),
			create(own.ids["AgentID"], other.ids["FolderID"]),
		}, true
	case reflect.TypeFor[model.LabelCriterionResultsInput]():
		labels := func(owner fixture) model.LabelCriterionResultsInput {
			in := right(owner.ids["FinishedRunID"], "Is polite", "New", true)
			return model.LabelCriterionResultsInput{Labels: []*model.LabelCriterionResultInput{&in}}
		}
		return []any{labels(own), labels(other)}, true
	case reflect.TypeFor[model.CriterionQueueArgs]():
		queue := func(owner fixture) model.CriterionQueueArgs {
			return model.CriterionQueueArgs{AgentID: owner.ids["AgentID"], Person: new("New"), First: 10}
		}
		return []any{queue(own), queue(other)}, true
	case reflect.TypeFor[model.AgentTestFilter]():
		return []any{model.AgentTestFilter{FolderID: own.ids["FolderID"]},
			model.AgentTestFilter{FolderID: other.ids["FolderID"]}}, true
	case reflect.TypeFor[model.AgentTestRunFilter]():
		run := func(execution, test, agent *string) any {
			return model.AgentTestRunFilter{ExecutionID: execution, TestID: test, AgentID: agent}
		}
		execution, test, agent := other.ids["ExecutionID"], other.ids["TestID"], other.ids["AgentID"]
		return []any{run(new(own.ids["ExecutionID"]), nil, nil), run(&execution, nil, nil), run(nil, &test, nil),
			run(nil, nil, &agent)}, true
	case reflect.TypeFor[*model.JSONObject]():
		return []any{new(model.JSONObject(`{"name":null}`))}, true
	case reflect.TypeFor[*model.UsageEntry]():
		return []any{&model.UsageEntry{AgentID: own.ids["AgentID"], Channel: model.ChannelWeb}}, true
	case reflect.TypeFor[*model.CampaignItemFilter](), reflect.TypeFor[*model.AgentTestExecutionFilter](),
		reflect.TypeFor[*model.DocumentFilter](), reflect.TypeFor[*model.NameFilter]():
		return []any{reflect.Zero(parameter).Interface()}, true
	case reflect.TypeFor[time.Duration]():
		return []any{time.Minute}, true
	case reflect.TypeFor[int32]():
		return []any{int32(1)}, true
	case reflect.TypeFor[*model.SimulationChat]():
		return []any{&model.SimulationChat{AgentID: own.ids["AgentID"], Warnings: []string{}},
			&model.SimulationChat{AgentID: other.ids["AgentID"], Warnings: []string{}}}, true
	}
	if parameter.Kind() != reflect.Struct || !strings.HasSuffix(parameter.Name(), "Input") {
		return nil, false
	}
	return inputs(parameter, own, other), true
}

// oneTarget lists inputs that accept only one of the fields that select what to run.
var oneTarget = []reflect.Type{
	reflect.TypeFor[model.StartAgentTestExecutionInput](), reflect.TypeFor[model.CreateAgentTestScheduleInput](),
	reflect.TypeFor[model.UpdateAgentTestScheduleInput](),
}

// inputs returns a valid input with ids of the fixture own. For each of these ids it also returns an input that has an
// id of the fixture other instead.
func inputs(inputType reflect.Type, own, other fixture) []any {
	valid := reflect.New(inputType).Elem()
	texts := map[string]string{
		"Name": "New", "TechnicalName": "a_new_name", "Prompt": "New {knowledge}", "Language": "en", "Channel": "Web",
		"Direction": "Inbound", "Text": "New",
		"Scenario": "New", "TagExpected": "New", "Color": "#112233", "Only": "All", "Criteria": "AsRun", "To": "Calling",
		"Kind": "Chats", "PhoneNumber": "+4930901820", "Secret": "legacy-9876543210-abcdef", "URL": "https://example.com/",
		"TimeZone": "UTC", "Criterion": "Is polite",
	}
	own = own.suiting(inputType)
	var named []int
	for i := range inputType.NumField() {
		field, name := valid.Field(i), inputType.Field(i).Name
		switch {
		case name == "McpName":
			field.Set(reflect.ValueOf(&own.mark))
		case name == "Endpoint" && inputType == reflect.TypeFor[model.CreateMcpServerInput]():
			field.Set(reflect.ValueOf(&model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://example.com/new",
				TimeoutSeconds: 10}))
		case own.ids[name] != "" && field.Kind() == reflect.String:
			field.SetString(own.ids[name])
			named = append(named, i)
		case own.ids[name] != "" && field.Type() == reflect.TypeFor[*string]():
			if !slices.Contains(oneTarget, inputType) || name == "BaselineID" {
				field.Set(reflect.ValueOf(new(own.ids[name])))
			}
			named = append(named, i)
		case own.ids[name] != "" && field.Kind() == reflect.Slice:
			field.Set(reflect.ValueOf([]string{own.ids[name]}))
			named = append(named, i)
		case texts[name] != "" && field.Kind() == reflect.String:
			field.SetString(texts[name])
		case name == "IsRight", name == "Person":
			field.Set(map[string]reflect.Value{"IsRight": reflect.ValueOf(new(true)),
				"Person": reflect.ValueOf(new("New"))}[name])
		case name == "Cron":
			field.Set(reflect.ValueOf(new("0 3 * * *")))
		case name == "Events":
			field.Set(reflect.ValueOf([]model.WebhookEvent{model.WebhookEventBudgetWarned}))
		case name == "Scopes":
			field.Set(reflect.ValueOf([]model.APIKeyScope{model.APIKeyScopeRead}))
		case slices.Contains([]string{"Version", "MaxTurns", "Repeats", "Concurrency", "MaxAttempts", "Limit", "Votes"},
			name) && field.Kind() == reflect.Int32:
			field.SetInt(1)
		case name == "Entries":
			field.Set(reflect.ValueOf([]*model.UsageEntryInput{entry("a new key", "2026-03-01T09:30:00Z", 1)}))
		case name == "LeaseSeconds", name == "TTLSeconds":
			field.SetInt(60)
		case field.Type() == reflect.TypeFor[[]*model.CampaignItemInput]():
			field.Set(reflect.ValueOf(contacts("", 1).Items))
		case field.Type() == reflect.TypeFor[[]*model.PromptEditInput]():
			field.Set(reflect.ValueOf([]*model.PromptEditInput{{Before: own.mark, After: "New"}}))
		case field.Type() == reflect.TypeFor[[]*model.LabelledQuestionInput]():
			field.Set(reflect.ValueOf(
				[]*model.LabelledQuestionInput{{Question: "New?", DocumentID: new(own.ids["DocumentID"])}}))
		case name == "Criteria":
			field.Set(reflect.ValueOf([]string{"New"}))
		case field.Type() == reflect.TypeFor[*model.ConversationContext]() &&
			inputType != reflect.TypeFor[model.UpdateAgentTestInput]():
			field.Set(reflect.ValueOf(conversation("New")))
		}
	}
	all := []any{valid.Interface()}
	for _, i := range named {
		foreign := reflect.New(inputType).Elem()
		foreign.Set(valid)
		name := inputType.Field(i).Name
		switch foreign.Field(i).Kind() {
		case reflect.String:
			foreign.Field(i).SetString(other.ids[name])
		case reflect.Pointer:
			foreign.Field(i).Set(reflect.ValueOf(new(other.ids[name])))
			if tests := foreign.FieldByName("TestIds"); tests.IsValid() &&
				slices.Contains([]reflect.Type{
					reflect.TypeFor[model.StartAgentTestExecutionInput](), reflect.TypeFor[model.CreateAgentTestScheduleInput](),
					reflect.TypeFor[model.UpdateAgentTestScheduleInput](),
				}, inputType) && name != "BaselineID" {
				tests.SetZero()
			}
		default:
			foreign.Field(i).Set(reflect.ValueOf([]string{own.ids[name], other.ids[name]}))
		}
		all = append(all, foreign.Interface())
	}
	return all
}

// suiting returns the fixture with the ids of rows to which the input can be applied.
func (e fixture) suiting(input reflect.Type) fixture {
	e.ids = maps.Clone(e.ids)
	switch input {
	case reflect.TypeFor[model.UpdateClassificationTestInput]():
		e.ids["TestID"] = e.ids["ClassificationTestID"]
	case reflect.TypeFor[model.RetryAgentTestExecutionInput](), reflect.TypeFor[model.RejudgeAgentTestExecutionInput]():
		e.ids["ExecutionID"] = e.ids["FinishedExecutionID"]
	case reflect.TypeFor[model.LabelCriterionResultInput]():
		e.ids["RunID"] = e.ids["FinishedRunID"]
	}
	return e
}
