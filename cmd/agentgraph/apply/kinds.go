package apply

// kind is a type of resource that files can describe.
type kind struct {
	// name is the singular in messages. list is the key of the list in files.
	name, list string
	// typeName is the GraphQL type, which is part of the mutations' names. payload is the field for the object in the
	// mutations' payloads. id is the field for the object's id in their inputs.
	typeName, payload, id string
	// query reads a page of resources into nodes.
	query string
	// isWhole is set if the query returns all resources, without pages.
	isWhole bool
	members []field
}

func (k *kind) shape() shape { return shape{form: merged, members: k.members} }

func (k *kind) member(name string) field {
	for _, f := range k.members {
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

func initially(value any) shape { return shape{form: scalar, initial: value} }

func listOf(of shape) shape { return shape{form: sequence, initial: list{}, of: &of} }

func distinctOf(of shape) shape { return shape{form: distinct, initial: list{}, of: &of} }

func setOf(of shape) shape { return shape{form: set, initial: list{}, of: &of} }

func recordOf(members ...field) shape { return shape{form: record, members: members} }

func mergedOf(members ...field) shape {
	return shape{form: merged, initial: object{}, members: members}
}

func one(to *kind) shape { return shape{form: reference, to: to} }

func in(name string, s shape) field { return field{name: name, shape: s} }

var dataset = &kind{
	name: "dataset", list: "datasets", typeName: "Dataset", payload: "dataset", id: "datasetId",
	query: `query ($after: String) { page: datasets(first: 100, after: $after) {
		nodes { id name description chunkMethod parserConfig { chunkTokenNum layoutRecognize delimiter taskPageSize } language
			createdAt updatedAt }
		pageInfo { hasNextPage endCursor }
	} }`,
	members: []field{
		in("name", plainText), in("description", optional), in("chunkMethod", initially("naive")),
		in("parserConfig", mergedOf(
			in("chunkTokenNum", initially(int64(512))), in("layoutRecognize", initially(true)),
			in("delimiter", shape{form: delimiter, initial: "\n"}), in("taskPageSize", initially(int64(12))),
		)),
		in("language", initially("auto")),
	},
}

const documentsQuery = `query ($after: String) { page: documents(first: 100, after: $after) {
	nodes { id name datasetId size digest } pageInfo { hasNextPage endCursor }
} }`

var knowledgeBaseChat = &kind{
	name: "knowledge base chat", list: "knowledgeBaseChats", typeName: "KnowledgeBaseChat", payload: "knowledgeBaseChat",
	id: "chatId",
	query: `query ($after: String) { page: knowledgeBaseChats(first: 100, after: $after) {
		nodes {
			id name datasetIds createdAt updatedAt
			llmSettings { temperature topP presencePenalty frequencyPenalty }
			promptSettings { similarityThreshold keywordsSimilarityWeight topN prompt opener emptyResponse rerankModel showQuote
				}
		}
		pageInfo { hasNextPage endCursor }
	} }`,
	members: []field{
		in("name", plainText), in("datasetIds", distinctOf(one(dataset))),
		in("llmSettings", mergedOf(
			in("temperature", initially(0.1)), in("topP", initially(0.3)),
			in("presencePenalty", initially(0.4)), in("frequencyPenalty", initially(0.7)),
		)),
		in("promptSettings", mergedOf(
			in("similarityThreshold", initially(0.2)), in("keywordsSimilarityWeight", initially(0.7)),
			in("topN", initially(int64(6))),
			in("prompt", initially("Answer from the knowledge below. When it does not hold the answer, say so.\n\n{knowledge}")),
			in("opener", initially("")), in("emptyResponse", initially("")), in("rerankModel", initially("")),
			in("showQuote", initially(true)),
		)),
	},
}

var endpoint = recordOf(
	in("method", initially("POST")), in("url", plainText), in("timeoutSeconds", initially(int64(10))),
	in("headerNames", setOf(plainText)),
)

var mcpServer = &kind{
	name: "MCP server", list: "mcpServers", typeName: "McpServer", payload: "mcpServer", id: "mcpServerId",
	query:   `{ page: mcpServers { id name endpoint { method url headerNames timeoutSeconds } createdAt updatedAt } }`,
	isWhole: true,
	members: []field{in("name", plainText), in("endpoint", endpoint)},
}

var tool = &kind{
	name: "tool", list: "tools", typeName: "Tool", payload: "tool", id: "toolId",
	query: `query ($after: String) { page: tools(first: 100, after: $after) {
		nodes { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds }
			mcpServer { id } mcpName approval createdAt updatedAt }
		pageInfo { hasNextPage endCursor }
	} }`,
	members: []field{
		in("name", plainText), in("technicalName", plainText), in("description", optional),
		in("parameters", shape{form: schema, initial: object{{"type", "object"}, {"properties", object{}}}}),
		in("endpoint", endpoint),
		in("mcpServerId", shape{form: reference, to: mcpServer, isNullable: true}), in("mcpName", optional),
		in("approval", initially("Auto")),
	},
}

// agent refers to itself, so its members are set below.
var agent = &kind{
	name: "agent", list: "agents", typeName: "Agent", payload: "agent", id: "agentId",
	query: `query ($after: String) { page: agents(first: 50, after: $after) {
		nodes {
			id name channel direction language tags prompt outboundWelcomeMessage inboundWelcomeMessage isCallTransferEnabled
			model
			fields { name isMandatory isSystem } classificationTags { name definition isSystem } extractedValues { name
				definition type }
			knowledgeBaseChatId tools { id } subAgents { id name technicalName description agent { id } } createdAt updatedAt
		}
		pageInfo { hasNextPage endCursor }
	} }`,
}

var subAgentMembers = []field{
	in("name", plainText), in("technicalName", plainText), in("description", initially("")),
	in("delegateAgentId", one(agent)),
}

func init() {
	agent.members = []field{
		in("name", plainText), in("channel", plainText), in("direction", plainText), in("language", plainText),
		in("tags", distinctOf(plainText)), in("prompt", plainText), in("outboundWelcomeMessage", optional),
		in("inboundWelcomeMessage", optional),
		in("fields", listOf(recordOf(in("name", plainText), in("isMandatory", initially(false)),
			in("isSystem", initially(false))))),
		in("classificationTags",
			listOf(recordOf(in("name", plainText), in("definition", initially("")), in("isSystem", initially(false))))),
		in("extractedValues", listOf(recordOf(in("name", plainText), in("definition", initially("")),
			in("type", initially("Text"))))),
		in("isCallTransferEnabled", initially(false)), in("model", optional),
		{name: "knowledgeBaseChatId", shape: shape{form: reference, to: knowledgeBaseChat, isNullable: true},
			isSeparate: true},
		{name: "toolIds", shape: setOf(one(tool)), isSeparate: true},
		{name: "subAgents", shape: setOf(recordOf(subAgentMembers...)), isSeparate: true},
	}
}

var folder = &kind{
	name: "test folder", list: "folders", typeName: "AgentTestFolder", payload: "folder", id: "folderId",
	query: `query ($after: String) { page: agentTestFolders(first: 100, after: $after) {
		nodes { id agentId name color body createdAt updatedAt } pageInfo { hasNextPage endCursor }
	} }`,
	members: []field{
		{name: "agentId", shape: one(agent), isFixed: true},
		in("name", plainText), in("color", initially("#6B7280")), in("body", initially("")),
	},
}

// subAgent is only used in references: sub-agents are members of agents.
var subAgent = &kind{name: "sub-agent"}

var (
	messages = listOf(recordOf(in("role", plainText), in("text", plainText), in("timestamp", shape{form: moment}),
		in("toolCalls", listOf(recordOf(in("technicalName", plainText), in("arguments", textValues), in("result", plainText),
			in("error", plainText))))))
	textValues = shape{form: values, initial: object{}}
	conditions = listOf(recordOf(in("argument", plainText), in("equals", plainText), in("matches", plainText),
		in("present", plainText)))
	mockedBy = []field{
		in("resultTemplate", optional), in("delaySeconds", initially(int64(0))),
		in("rules", listOf(recordOf(
			in("when", conditions),
			in("callIndex", plainText), in("resultTemplate", optional), in("delaySeconds", initially(int64(0))),
			in("failure", recordOf(in("kind", plainText), in("status", plainText), in("body", plainText))),
		))),
	}
	mocking = shape{form: record, initial: object{}, members: []field{
		in("mockAllTools", initially(false)), in("mockAllSubAgents", initially(false)),
		in("mockCallTransfer", initially(false)),
		in("callTransferFailure", plainText), in("sideEffects", initially("Allow")),
		in("mockedTools", listOf(recordOf(append([]field{in("toolId", one(tool))}, mockedBy...)...))),
		in("mockedSubAgents", listOf(recordOf(append([]field{in("subAgentId", one(subAgent))}, mockedBy...)...))),
	}}
	persona = shape{form: record, initial: object{}, members: []field{
		in("mood", plainText), in("patience", plainText), in("language", plainText), in("knowledge", plainText),
	}}
	tableRows = listOf(recordOf(in("name", optional), in("values", textValues)))
	ofTest    = []field{
		{name: "agentId", shape: one(agent), isFixed: true},
		in("folderId", shape{form: reference, to: folder, isNullable: true}), in("name", plainText),
	}
)

var (
	calls = []field{in("technicalName", plainText), in("kind", plainText), in("where", conditions)}
	said  = recordOf(in("text", plainText), in("matches", plainText), in("role", initially("assistant")),
		in("turn", plainText))
	checks = listOf(recordOf(in("expect", recordOf(
		in("called", recordOf(append(calls[:len(calls):len(calls)], in("succeeded", initially(false)),
			in("min", initially(int64(1))), in("max", plainText), in("before", plainText))...)),
		in("neverCalled", recordOf(calls...)), in("says", said), in("neverSays", said), in("endedBy", plainText),
		in("tag", plainText),
		in("turnsAtMost", plainText), in("durationAtMost", plainText),
		in("firstTokenAtMost", plainText), in("creditsAtMost", plainText),
		in("extracts", recordOf(in("name", plainText), in("equals", plainText), in("matches", plainText))),
		in("resultJson", recordOf(in("technicalName", plainText), in("schema", shape{form: schema}))),
	)), in("weight", plainText)))
)

const checkFields = `expect {
	called { technicalName kind where { argument equals matches present } succeeded min max before }
	neverCalled { technicalName kind where { argument equals matches present } }
	says { text matches role turn } neverSays { text matches role turn }
	endedBy tag turnsAtMost durationAtMost firstTokenAtMost creditsAtMost
	resultJson { technicalName schema } extracts { name equals matches }
} weight`

const mockedFields = `resultTemplate delaySeconds rules { when { argument equals matches present } callIndex resultTemplate delaySeconds failure { kind status body } }`

var simulation = &kind{
	name: "simulation test", list: "simulations", typeName: "SimulationTest", payload: "agentTest", id: "testId",
	query: `query ($after: String) { page: agentTests(kind: Simulation, first: 50, after: $after) {
		nodes { id agentId folderId name rows { name values } createdAt updatedAt ... on SimulationTest {
			scenario criteria criteriaWeights checks { ` + checkFields + ` } passAt judgeSees persona { mood patience language knowledge } contactSays maxTurns variables conversationContext: conversationMessages { role text timestamp toolCalls { technicalName arguments result error } }
			toolMocking {
				mockAllTools mockAllSubAgents mockCallTransfer callTransferFailure sideEffects
				mockedTools { toolId ` + mockedFields + ` } mockedSubAgents { subAgentId ` + mockedFields + ` }
			}
		} }
		pageInfo { hasNextPage endCursor }
	} }`,
	members: append(ofTest[:len(ofTest):len(ofTest)],
		in("scenario", plainText), in("criteria", listOf(plainText)),
		in("criteriaWeights", listOf(shape{form: scalar, isNullable: true})),
		in("checks", checks), in("passAt", initially(int64(1))), in("judgeSees", setOf(plainText)), in("persona", persona),
		in("contactSays", listOf(shape{form: scalar, isNullable: true})), in("maxTurns", initially(int64(10))),
		in("conversationContext", messages), in("variables", textValues), in("toolMocking", mocking), in("rows", tableRows),
	),
}

var classification = &kind{
	name: "classification test", list: "classifications", typeName: "ClassificationTest", payload: "agentTest",
	id: "testId",
	query: `query ($after: String) { page: agentTests(kind: Classification, first: 50, after: $after) {
		nodes { id agentId folderId name rows { name values } createdAt updatedAt ... on ClassificationTest {
			tagExpected conversationContext { messages { role text timestamp } dataBag }
		} }
		pageInfo { hasNextPage endCursor }
	} }`,
	members: append(ofTest[:len(ofTest):len(ofTest)],
		in("tagExpected", plainText),
		in("conversationContext", recordOf(in("messages", messages), in("dataBag", textValues))), in("rows", tableRows),
	),
}

var campaign = &kind{
	name: "campaign", list: "campaigns", typeName: "Campaign", payload: "campaign", id: "campaignId",
	query: `query ($after: String) { page: campaigns(first: 100, after: $after, filter: {statuses: [Draft, Running, Paused,
		Completed]}) {
		nodes { id name agent { id } maxAttempts retryDelayMinutes defaultRegion fields { name description isMandatory }
			createdAt updatedAt }
		pageInfo { hasNextPage endCursor }
	} }`,
	members: []field{
		{name: "agentId", shape: one(agent), isFixed: true},
		in("name", plainText), in("maxAttempts", initially(int64(3))), in("retryDelayMinutes", initially(int64(60))),
		in("defaultRegion", optional),
		{name: "fields", shape: listOf(recordOf(in("name", plainText), in("description", optional),
			in("isMandatory", initially(false)))), isSeparate: true},
	},
}

// kinds are in the order in which resources are created. Each refers only to earlier kinds, except that agents refer to
// each other.
var kinds = []*kind{dataset, knowledgeBaseChat, mcpServer, tool, agent, folder, simulation, classification, campaign}
