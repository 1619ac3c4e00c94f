package query

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// rowTypes are the object types that are rows. A GraphQL field is read from the column of the struct field with the
// same name, or from a part of a JSON column. relations and computed define further fields. Resolvers answer all other
// fields, without a plan.
var rowTypes = map[string]any{
	"Agent":                 model.Agent{},
	"PromptVersion":         model.PromptVersion{},
	"Tool":                  model.Tool{},
	"McpServer":             model.McpServer{},
	"SubAgent":              model.SubAgent{},
	"KnowledgeBaseChat":     model.KnowledgeBaseChat{},
	"Dataset":               model.Dataset{},
	"Document":              model.Document{},
	"Chunk":                 model.Chunk{},
	"SimulationChat":        model.SimulationChat{},
	"SimulationChatMessage": model.SimulationChatMessage{},
	"ToolCall":              model.ToolCall{},
	"AgentTest":             model.AgentTestRow{},
	"SimulationTest":        model.AgentTestRow{},
	"ClassificationTest":    model.AgentTestRow{},
	"AgentTestFolder":       model.AgentTestFolder{},
	"AgentTestExecution":    model.AgentTestExecution{},
	"AgentTestRun":          model.AgentTestRun{},
	"CriterionLabel":        model.CriterionLabel{},
	"Campaign":              model.Campaign{},
	"CampaignItem":          model.CampaignItem{},
	"CampaignItemEvent":     model.CampaignItemEvent{},
	"AgentTestSchedule":     model.AgentTestSchedule{},
	"AuditEvent":            model.AuditEvent{},
	"Webhook":               model.Webhook{},
	"WebhookDelivery":       model.WebhookDelivery{},
	"ApiKey":                model.APIKey{},
}

// implementations maps each interface to its object types by the value of the row's "kind" column.
var implementations = map[string]map[string]string{
	"AgentTest": {
		string(model.AgentTestKindSimulation):     "SimulationTest",
		string(model.AgentTestKindClassification): "ClassificationTest",
	},
}

// relations lead from rows to other rows.
var relations = map[string]relation{
	"Agent.tools":                 many(db.ToolsOfAgents),
	"Agent.subAgents":             many(db.SubAgentsOfAgents),
	"Agent.knowledgeBaseChat":     one("knowledge_base_chat_id", db.KnowledgeBaseChatRows).allColumns(),
	"Agent.knowledgeBaseChatName": one("knowledge_base_chat_id", db.KnowledgeBaseChatRows).returning("name"),
	"Agent.promptVersions":        page(db.PromptVersionsOfAgents),
	"Agent.simulationChats":       page(db.SimulationChatsOfAgents).filteredBy(chatsThat),
	"Agent.tests":                 page(db.TestsOfAgents).filteredBy(testsThat),
	"Agent.testFolders":           many(db.FoldersOfAgents).allColumns(),
	"Agent.testExecutions":        page(db.ExecutionsOfAgents).filteredBy(executionsThat),
	"Agent.campaigns":             page(db.CampaignsOfAgents),
	"Agent.parents":               page(db.ParentsOfAgents),

	"PromptVersion.writtenBy": one("api_key_id", db.APIKeyRows).returning("name"),

	"Tool.agents":     page(db.AgentsOfTools),
	"Tool.mcpServer":  one("mcp_server_id", db.McpServerRows),
	"McpServer.tools": many(db.ToolsOfMcpServers),
	"SubAgent.agent":  one("delegate_agent_id", db.AgentRows),
	"SubAgent.parent": one("agent_id", db.AgentRows),

	"KnowledgeBaseChat.datasets":            many(db.DatasetsOfChats).allColumns(),
	"KnowledgeBaseChat.datasetIds":          many(db.DatasetsOfChats).returning("id"),
	"KnowledgeBaseChat.datasetNames":        many(db.DatasetsOfChats).returning("name"),
	"KnowledgeBaseChat.connectedAgentCount": count(db.AgentsOfChats),
	"KnowledgeBaseChat.agents":              page(db.AgentsOfChats),

	"Dataset.chats":     page(db.ChatsOfDatasets),
	"Dataset.documents": page(db.DocumentsOfDatasets),
	"Document.dataset":  one("dataset_id", db.DatasetRows),
	"Document.chunks":   page(db.ChunksOfDocuments),
	"Chunk.document":    one("document_id", db.DocumentRows),

	"SimulationChat.agent":               one("agent_id", db.AgentRows),
	"SimulationChat.messages":            many(db.MessagesOfChats).allColumns(),
	"SimulationChat.lastMessage":         many(db.LastMessageOfChats).atMostOne(),
	"SimulationChat.firstContactMessage": many(db.FirstContactMessageOfChats).atMostOne(),
	"SimulationChat.toolCalls":           many(db.ToolCallsOfChats).allColumns(),
	"SimulationChat.pendingApprovals":    many(db.PendingApprovalsOfChats).allColumns(),

	"AgentTest.agent":   one("agent_id", db.AgentRows),
	"AgentTest.folder":  one("folder_id", db.AgentTestFolderRows).allColumns(),
	"AgentTest.lastRun": one("last_run_id", db.AgentTestRunRows),
	"AgentTest.runs":    page(db.RunsOfTests),

	"AgentTestFolder.agent": one("agent_id", db.AgentRows),
	"AgentTestFolder.tests": page(db.TestsOfFolders),

	"AgentTestExecution.agent":        one("agent_id", db.AgentRows),
	"AgentTestExecution.runs":         page(db.RunsOfExecutions).filteredBy(runsThat),
	"AgentTestExecution.rejudgeOf":    one("rejudge_of_id", db.AgentTestExecutionRows),
	"AgentTestExecution.rejudgements": many(db.RejudgementsOfExecutions),
	"AgentTestExecution.startedBy":    one("api_key_id", db.APIKeyRows).returning("name"),

	"AgentTestRun.test":         one("test_id", db.AgentTestRows),
	"AgentTestRun.rejudgeOf":    one("rejudge_of_id", db.AgentTestRunRows),
	"AgentTestRun.rejudgements": many(db.RejudgementsOfRuns),
	"AgentTestRun.draftPrompt":  one("execution_id", db.AgentTestExecutionRows).returning("draft_prompt"),
	"AgentTestRun.execution":    one("execution_id", db.AgentTestExecutionRows),
	"AgentTestRun.labels":       many(db.LabelsOfRuns).allColumns(),

	"Campaign.agent": one("agent_id", db.AgentRows),
	"Campaign.items": page(db.ItemsOfCampaigns).filteredBy(itemsThat),
	// the agent's fields, which precede the campaign's
	"Campaign.fields": one("agent_id", db.AgentRows).computedFrom("fields"),

	"CampaignItem.campaign":  one("campaign_id", db.CampaignRows),
	"CampaignItem.eventList": many(db.EventsOfItems).allColumns(),

	"AgentTestExecution.schedule":     one("schedule_id", db.AgentTestScheduleRows),
	"AgentTestSchedule.agent":         one("agent_id", db.AgentRows),
	"AgentTestSchedule.folder":        one("folder_id", db.AgentTestFolderRows).allColumns(),
	"AgentTestSchedule.baseline":      one("baseline_id", db.AgentTestExecutionRows),
	"AgentTestSchedule.lastExecution": one("last_execution_id", db.AgentTestExecutionRows),

	"Webhook.deliveries": page(db.DeliveriesOfWebhooks).filteredBy(deliveriesThat),

	// These objects are not rows, so they are not planned.
	"AgentConsumption.agent":        one("", db.AgentRows).keyedBy(resolvedAgent),
	"CampaignConsumption.campaign":  one("", db.CampaignRows).keyedBy(resolvedCampaign),
	"AgentTestBlame.goodRun":        one("", db.AgentTestRunRows).keyedBy(goodRun),
	"AgentTestBlame.badRun":         one("", db.AgentTestRunRows).keyedBy(badRun),
	"CriterionQueueEntry.run":       one("", db.AgentTestRunRows).keyedBy(queuedRun),
	"JudgeDisagreement.run":         one("", db.AgentTestRunRows).keyedBy(wrongRun),
	"AgentTestComparisonTest.test":  one("", db.AgentTestRows).keyedBy(existingTest),
	"AgentTestExecutionTest.test":   one("", db.AgentTestRows).keyedBy(executedTest),
	"AgentTestExecutionTest.folder": one("", db.AgentTestFolderRows).keyedBy(folderOfExecuted).allColumns(),
}

// resolverFields lists the fields with their own resolver. It maps each to the columns that it needs in addition to the
// id.
var resolverFields = map[string][]string{
	"Agent.coverage":                         nil,
	"AgentTest.blame":                        nil,
	"AgentTest.isFlaky":                      nil,
	"AgentTest.failingSince":                 nil,
	"AgentTest.history":                      nil,
	"AgentTest.obstacles":                    nil,
	"SimulationTest.suggestedChecks":         nil,
	"AgentTestExecution.agreement":           nil,
	"AgentTestExecution.correctedPassRate":   nil,
	"AgentTestExecution.counts":              nil,
	"AgentTestExecution.passRate":            nil,
	"AgentTestExecution.passRateInterval":    nil,
	"AgentTestExecution.passHatK":            nil,
	"AgentTestExecution.passHatKTests":       nil,
	"AgentTestExecution.flakyTestIds":        nil,
	"AgentTestExecution.promptVersions":      nil,
	"AgentTestExecution.tests":               nil,
	"AgentTestExecution.simulatorErrors":     nil,
	"AgentTestExecution.simulatorErrorShare": nil,
	"AgentTestExecution.usage":               nil,
	"AgentTestExecution.variants":            {"variants"},
	"AgentTestExecution.verdict":             {"status", "finished_at"},
	"AgentTestRun.instructions":              nil,
	"AgentTestRun.usage":                     nil,
	"Campaign.counts":                        nil,
	"Campaign.fields":                        {"agent_id", "own_fields"},
	"Dataset.documentCount":                  nil,
	"Dataset.chunkCount":                     nil,
	"Dataset.labelledQuestions":              nil,
	"PromptVersion.testRuns":                 nil,
	"SimulationChat.coverage":                nil,
	"SimulationChat.instructions":            nil,
	"SimulationTest.coverage":                nil,
}

var roots = map[string]root{
	"agent":              byID(db.AgentRows),
	"agents":             all(db.AgentList).filteredBy(agentsThat),
	"tool":               byID(db.ToolRows),
	"tools":              all(db.ToolList).filteredBy(namedThat),
	"knowledgeBaseChat":  byID(db.KnowledgeBaseChatRows),
	"knowledgeBaseChats": all(db.KnowledgeBaseChatList).filteredBy(namedThat),
	"dataset":            byID(db.DatasetRows),
	"datasets":           all(db.DatasetList).filteredBy(namedThat),
	"document":           byID(db.DocumentRows).unless("datasetId"),
	"documents":          all(db.DocumentList).mustExist("datasetId", db.DatasetRows).filteredBy(documentsThat),

	"simulationChat":  byID(db.SimulationChatRows),
	"simulationChats": all(db.SimulationChatList).mustExist("agentId", db.AgentRows).filteredBy(chatsOfAgent),

	"agentTest": byID(db.AgentTestRows),
	"agentTests": all(db.AgentTestList).mustExist("agentId", db.AgentRows).mustExist("folderId", db.AgentTestFolderRows).
		filteredBy(testsOfAgent),
	"agentTestFolder":     byID(db.AgentTestFolderRows),
	"agentTestFolders":    all(db.AgentTestFolderList).mustExist("agentId", db.AgentRows).filteredBy(ofAgent),
	"agentTestExecution":  byID(db.AgentTestExecutionRows),
	"agentTestExecutions": all(db.AgentTestExecutionList).mustExist("agentId", db.AgentRows).filteredBy(executionsOfAgent),
	"agentTestRun":        byID(db.AgentTestRunRows),
	"agentTestRuns": all(db.AgentTestRunList).mustExist("executionId", db.AgentTestExecutionRows).
		filteredBy(runsThat).summed(),

	"agentTestSchedule":  byID(db.AgentTestScheduleRows),
	"agentTestSchedules": all(db.AgentTestScheduleList).mustExist("agentId", db.AgentRows).filteredBy(ofAgent),

	"criterionLabels": all(db.CriterionLabelList).mustExist("agentId", db.AgentRows).filteredBy(labelsOfAgent),

	"webhook":   byID(db.WebhookRows),
	"mcpServer": byID(db.McpServerRows),

	"campaign":      byID(db.CampaignRows),
	"campaigns":     all(db.CampaignList).filteredBy(campaignsThat),
	"auditEvents":   all(db.AuditEventList).filteredBy(auditEventsThat),
	"campaignItems": all(db.CampaignItemList).mustExist("campaignId", db.CampaignRows).filteredBy(itemsOfCampaign),
}

// Table has rowTypes, relations and roots, checked against a schema. Plans and resolvers use it to read.
type Table struct {
	schema *ast.Schema
	store  *db.Store
	log    *slog.Logger
	// columns are the columns of each row, by the lower-case names of its fields.
	columns map[reflect.Type]map[string]string
	// typeConditions lists the type conditions of fragments that apply to each object type: the type itself and its
	// interfaces.
	typeConditions map[string][]string
	relations      map[string]*relation
	roots          map[string]*root
	// fieldColumns are the columns of each field, by "Type.field". A field that is not listed may need any column.
	fieldColumns map[string][]string
}

// NewTable returns the table of the store's types. It returns an error when the table does not match the schema.
func NewTable(schema *ast.Schema, store *db.Store, log *slog.Logger) (*Table, error) {
	t := &Table{
		schema: schema, store: store, log: log, fieldColumns: map[string][]string{},
		columns:        map[reflect.Type]map[string]string{},
		typeConditions: map[string][]string{},
		relations:      map[string]*relation{}, roots: map[string]*root{},
	}
	for name, definition := range schema.Types {
		if definition.Kind == ast.Object {
			t.typeConditions[name] = append([]string{name}, definition.Interfaces...)
		}
	}
	for name, row := range rowTypes {
		if schema.Types[name] == nil {
			return nil, fmt.Errorf("plan queries: the schema has no type %s", name)
		}
		t.columns[reflect.TypeOf(row)] = store.Columns(row)
	}
	for name, r := range relations {
		if err := t.check(name, r); err != nil {
			return nil, err
		}
		typeName, field, _ := strings.Cut(name, ".")
		if row := reflect.TypeOf(rowTypes[typeName]); r.key == nil {
			r.fieldIndex = t.member(row, r.column).Index
		}
		for _, objectType := range typesOf(typeName) {
			t.relations[objectType+"."+field] = &r
		}
	}
	for name, columns := range resolverFields {
		typeName, field, _ := strings.Cut(name, ".")
		for _, objectType := range typesOf(typeName) {
			t.fieldColumns[objectType+"."+field] = columns
		}
	}
	for name, r := range roots {
		if err := t.check("Query."+name, r.relation); err != nil {
			return nil, err
		}
		t.roots[name] = &r
	}
	for name, definition := range schema.Types {
		for _, field := range definition.Fields {
			if columns, known := t.findFieldColumns(name, field.Name); known {
				t.fieldColumns[name+"."+field.Name] = columns
			}
		}
	}
	return t, nil
}

// typesOf returns the type itself and, if it is an interface, the types that implement it.
func typesOf(typeName string) []string {
	types := []string{typeName}
	for _, kind := range implementations[typeName] {
		types = append(types, kind)
	}
	return types
}

// member returns the struct field of a row's column.
func (t *Table) member(row reflect.Type, column string) reflect.StructField {
	for _, member := range reflect.VisibleFields(row) {
		if t.columns[row][strings.ToLower(member.Name)] == column {
			return member
		}
	}
	return reflect.StructField{}
}

// check compares a relation with its field in the schema.
func (t *Table) check(name string, r relation) error {
	typeName, field, _ := strings.Cut(name, ".")
	definition := t.schema.Types[typeName].Fields.ForName(field)
	if definition == nil {
		return fmt.Errorf("plan queries: the schema has no field %s", name)
	}
	if r.value != "" && r.row() != nil && t.member(r.row(), r.value).Type == nil {
		return fmt.Errorf("plan queries: %s returns the column %q, which %s does not have", name, r.value, r.row())
	}
	if r.shape == toTotal || r.value != "" || r.resolverColumn != "" {
		return nil
	}
	target := t.target(definition.Type, r.shape)
	if row, known := rowTypes[target]; !known || reflect.TypeOf(row) != r.row() {
		return fmt.Errorf("plan queries: %s has the type %q in the schema, but its rows are %s", name, target, r.row())
	}
	return nil
}

// target returns the object type that a field of this type and shape leads to.
func (t *Table) target(fieldType *ast.Type, s shape) string {
	if s != toPage {
		return fieldType.Name()
	}
	nodes := t.schema.Types[fieldType.Name()].Fields.ForName("nodes")
	if nodes == nil {
		return ""
	}
	return nodes.Type.Name()
}
