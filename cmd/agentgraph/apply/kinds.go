package apply

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// kind is a type of resource that files can describe.
type kind struct {
	// name is the singular in messages. list is the key of the list in files.
	name, list string
	// typeName is the GraphQL type, which is part of the mutations' names. payload is the field for the object in the
	// mutations' payloads. id is the field for the object's id in their inputs.
	typeName, payload, id string
	// pages is the field of Query for a page of resources, with its first arguments.
	pages   string
	members []field
}

// query returns a query for a page of resources. It selects the members of files, or what asFiles makes them from.
func (k *kind) query() string {
	fields := "id createdAt updatedAt"
	for _, f := range k.members {
		fields += " " + cmp.Or(f.selected, f.name+f.selection())
	}
	if k == mcpServer { // the server returns all of them, without pages
		return "{ page: " + k.pages + " { " + fields + " offers { name description } } }"
	}
	return pageQuery(k.pages, "... on "+k.typeName+" { "+fields+" }")
}

// pageQuery returns a query for a page of a list, with these fields of its nodes.
func pageQuery(pages, fields string) string {
	return "query ($after: String) { page: " + pages + ", after: $after) { nodes { " + fields +
		" } pageInfo { hasNextPage endCursor } } }"
}

func (k *kind) shape() shape { return shape{form: merged, members: k.members} }

// isTest reports whether the resources are tests.
func (k *kind) isTest() bool { return k == simulation || k == classification }

func (k *kind) member(name string) field { return k.shape().member(name) }

// member returns the member with the name, or the zero field if there is none.
func (s shape) member(name string) field {
	for _, f := range s.members {
		if f.name == name {
			return f
		}
	}
	return field{}
}

var (
	plainText = shape{form: scalar}
	optional  = shape{form: text, isNullable: true}
)

func withDefault(value any) shape { return shape{form: scalar, initial: value} }

func listOf(element shape) shape { return shape{form: sequence, initial: list{}, element: &element} }

func distinctOf(element shape) shape {
	return shape{form: distinct, initial: list{}, element: &element}
}

func setOf(element shape) shape { return shape{form: set, initial: list{}, element: &element} }

func recordOf(members ...field) shape { return shape{form: record, members: members} }

func mergedOf(members ...field) shape {
	return shape{form: merged, initial: object{}, members: members}
}

func referenceTo(to *kind) shape { return shape{form: reference, to: to} }

// checkDefaults are the defaults of members of checks, by their names.
var checkDefaults = map[string]any{"role": "assistant", "succeeded": false, "min": int64(1)}

// shapeOf returns the shape of a Go type's values in JSON. initial is the default of a scalar.
func shapeOf(t reflect.Type, initial any) shape {
	switch {
	case t == reflect.TypeFor[model.JSONObject]():
		return shape{form: schema}
	case t.Kind() == reflect.Pointer:
		return shapeOf(t.Elem(), initial)
	case t.Kind() == reflect.Slice:
		return listOf(shapeOf(t.Elem(), nil))
	case t.Kind() != reflect.Struct:
		return withDefault(initial)
	}
	var members []field
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			members = append(members, newField(name, shapeOf(f.Type, checkDefaults[name])))
		}
	}
	return recordOf(members...)
}

func newField(name string, s shape) field { return field{name: name, shape: s} }

var dataset = &kind{
	name: "dataset", list: "datasets", typeName: "Dataset", payload: "dataset", id: "datasetId",
	pages: "datasets(first: 100",
	members: []field{
		newField("name", plainText), newField("description", optional), newField("chunkMethod", withDefault("naive")),
		newField("parserConfig", mergedOf(
			newField("chunkTokenNum", withDefault(int64(512))), newField("layoutRecognize", withDefault(true)),
			newField("delimiter", shape{form: delimiter, initial: "\n"}), newField("taskPageSize", withDefault(int64(12))),
		)),
		newField("language", withDefault("auto")),
	},
}

var documentsQuery = pageQuery("documents(first: 100", "id name datasetId size digest")

var knowledgeBaseChat = &kind{
	name: "knowledge base chat", list: "knowledgeBaseChats", typeName: "KnowledgeBaseChat", payload: "knowledgeBaseChat",
	id:    "chatId",
	pages: "knowledgeBaseChats(first: 100",
	members: []field{
		newField("name", plainText), newField("datasetIds", distinctOf(referenceTo(dataset))),
		newField("llmSettings", mergedOf(
			newField("temperature", withDefault(0.1)), newField("topP", withDefault(0.3)),
			newField("presencePenalty", withDefault(0.4)), newField("frequencyPenalty", withDefault(0.7)),
		)),
		newField("promptSettings", mergedOf(
			newField("similarityThreshold", withDefault(0.2)), newField("keywordsSimilarityWeight", withDefault(0.7)),
			newField("topN", withDefault(int64(6))),
			newField("prompt", withDefault(
				"Answer from the knowledge below. When it does not hold the answer, say so.\n\n{knowledge}")),
			newField("opener", withDefault("")), newField("emptyResponse", withDefault("")),
			newField("rerankModel", withDefault("")),
			newField("showQuote", withDefault(true)),
		)),
	},
}

var endpoint = recordOf(
	newField("method", withDefault("POST")), newField("url", plainText),
	newField("timeoutSeconds", withDefault(int64(10))),
	newField("headerNames", setOf(plainText)),
)

var mcpServer = &kind{
	name: "MCP server", list: "mcpServers", typeName: "McpServer", payload: "mcpServer", id: "mcpServerId",
	pages:   "mcpServers",
	members: []field{newField("name", plainText), newField("endpoint", endpoint)},
}

var tool = &kind{
	name: "tool", list: "tools", typeName: "Tool", payload: "tool", id: "toolId",
	pages: "tools(first: 100",
	members: []field{
		newField("name", plainText), newField("technicalName", plainText), newField("description", optional),
		newField("parameters", shape{form: schema, initial: object{{"type", "object"}, {"properties", object{}}}}),
		newField("endpoint", endpoint),
		{name: "mcpServerId", shape: shape{form: reference, to: mcpServer, isNullable: true}, selected: "mcpServer { id }"},
		newField("mcpName", optional),
		newField("approval", withDefault("Auto")),
	},
}

// agent refers to itself, so its members are set below.
var agent = &kind{
	name: "agent", list: "agents", typeName: "Agent", payload: "agent", id: "agentId",
	pages: "agents(first: 50",
}

var subAgentMembers = []field{
	newField("name", plainText), newField("technicalName", plainText), newField("description", withDefault("")),
	newField("delegateAgentId", referenceTo(agent)),
}

func init() {
	agent.members = []field{
		newField("name", plainText), newField("channel", plainText), newField("direction", plainText),
		newField("language", plainText),
		newField("tags", distinctOf(plainText)), newField("prompt", plainText), newField("outboundWelcomeMessage", optional),
		newField("inboundWelcomeMessage", optional),
		newField("fields", listOf(recordOf(newField("name", plainText), newField("isMandatory", withDefault(false)),
			newField("isSystem", withDefault(false))))),
		newField("classificationTags",
			listOf(recordOf(newField("name", plainText), newField("definition", withDefault("")),
				newField("isSystem", withDefault(false))))),
		newField("extractedValues", listOf(recordOf(newField("name", plainText), newField("definition", withDefault("")),
			newField("type", withDefault("Text"))))),
		newField("isCallTransferEnabled", withDefault(false)), newField("model", optional),
		{name: "knowledgeBaseChatId", shape: shape{form: reference, to: knowledgeBaseChat, isNullable: true},
			isSeparate: true},
		{name: "toolIds", shape: setOf(referenceTo(tool)), isSeparate: true, selected: "tools { id }"},
		{name: "subAgents", shape: setOf(recordOf(subAgentMembers...)), isSeparate: true,
			selected: "subAgents { id name technicalName description agent { id } }"},
	}
}

var folder = &kind{
	name: "test folder", list: "folders", typeName: "AgentTestFolder", payload: "folder", id: "folderId",
	pages: "agentTestFolders(first: 100",
	members: []field{
		{name: "agentId", shape: referenceTo(agent), isFixed: true},
		newField("name", plainText), newField("color", withDefault("#6B7280")), newField("body", withDefault("")),
	},
}

// subAgent is only used in references: sub-agents are members of agents.
var subAgent = &kind{name: "sub-agent"}

var (
	messages = listOf(recordOf(newField("role", plainText), newField("text", plainText),
		newField("timestamp", shape{form: moment}),
		newField("toolCalls", listOf(recordOf(newField("technicalName", plainText), newField("arguments", textValues),
			newField("result", plainText),
			newField("error", plainText))))))
	textValues = shape{form: values, initial: object{}}
	conditions = shapeOf(reflect.TypeFor[[]model.MockCondition](), nil)
	mockedBy   = []field{
		newField("resultTemplate", optional), newField("delaySeconds", withDefault(int64(0))),
		newField("rules", listOf(recordOf(
			newField("when", conditions),
			newField("callIndex", plainText), newField("resultTemplate", optional),
			newField("delaySeconds", withDefault(int64(0))),
			newField("failure", shapeOf(reflect.TypeFor[model.MockFailure](), nil)),
		))),
	}
	mocking = shape{form: record, initial: object{}, members: []field{
		newField("mockAllTools", withDefault(false)), newField("mockAllSubAgents", withDefault(false)),
		newField("mockCallTransfer", withDefault(false)),
		newField("callTransferFailure", plainText), newField("sideEffects", withDefault("Allow")),
		newField("mockedTools", listOf(recordOf(append([]field{newField("toolId", referenceTo(tool))}, mockedBy...)...))),
		newField("mockedSubAgents", listOf(recordOf(append([]field{newField("subAgentId", referenceTo(subAgent))},
			mockedBy...)...))),
	}}
	persona = shape{form: record, initial: object{},
		members: shapeOf(reflect.TypeFor[model.ContactPersona](), nil).members}
	checks      = shapeOf(reflect.TypeFor[[]model.TestCheck](), nil)
	tableRows   = listOf(recordOf(newField("name", optional), newField("values", textValues)))
	testMembers = []field{
		{name: "agentId", shape: referenceTo(agent), isFixed: true},
		newField("folderId", shape{form: reference, to: folder, isNullable: true}), newField("name", plainText),
	}
)

var simulation = &kind{
	name: "simulation test", list: "simulations", typeName: "SimulationTest", payload: "agentTest", id: "testId",
	pages: "agentTests(kind: Simulation, first: 50",
	members: append(testMembers[:len(testMembers):len(testMembers)],
		newField("scenario", plainText), newField("criteria", listOf(plainText)),
		newField("criteriaWeights", listOf(shape{form: scalar, isNullable: true})),
		newField("checks", checks), newField("passAt", withDefault(int64(1))), newField("judgeSees", setOf(plainText)),
		newField("persona", persona),
		newField("contactSays", listOf(shape{form: scalar, isNullable: true})), newField("maxTurns", withDefault(int64(10))),
		field{name: "conversationContext", shape: messages,
			selected: "conversationContext: conversationMessages" + messages.selection()},
		newField("variables", textValues), newField("toolMocking", mocking),
		newField("rows", tableRows),
	),
}

var classification = &kind{
	name: "classification test", list: "classifications", typeName: "ClassificationTest", payload: "agentTest",
	id:    "testId",
	pages: "agentTests(kind: Classification, first: 50",
	members: append(testMembers[:len(testMembers):len(testMembers)],
		newField("tagExpected", plainText),
		field{name: "conversationContext", shape: recordOf(newField("messages", messages), newField("dataBag", textValues)),
			selected: "conversationContext { messages { role text timestamp } dataBag }"},
		newField("rows", tableRows),
	),
}

var campaign = &kind{
	name: "campaign", list: "campaigns", typeName: "Campaign", payload: "campaign", id: "campaignId",
	pages: "campaigns(first: 100, filter: {statuses: [Draft, Running, Paused, Completed]}",
	members: []field{
		{name: "agentId", shape: referenceTo(agent), isFixed: true, selected: "agent { id }"},
		newField("name", plainText), newField("maxAttempts", withDefault(int64(3))),
		newField("retryDelayMinutes", withDefault(int64(60))),
		newField("defaultRegion", optional),
		{name: "fields", shape: listOf(recordOf(newField("name", plainText), newField("description", optional),
			newField("isMandatory", withDefault(false)))), isSeparate: true},
	},
}

// kinds are in the order in which resources are created. Each refers only to earlier kinds, except that agents refer to
// each other.
var kinds = []*kind{dataset, knowledgeBaseChat, mcpServer, tool, agent, folder, simulation, classification, campaign}
