// Package rest serves v1 REST as stored GraphQL operations. Each route of the table names an operation in the
// operations folder. Its variables come from the path and from the JSON body or, for GET and DELETE, the query string.
// Aliases and fragments give the v1 shape. The response body is the operation's data at the route's result path. Start
// reading at Transport and routes.
package rest

import (
	"embed"
	"net/http"

	"github.com/agentgraph/agentgraph/model"
)

//go:embed operations/*.graphql
var operations embed.FS

type route struct {
	method string
	// path has literal segments, whose case is ignored, and {variable} segments.
	path string
	// operation is the name of the stored operation. result is the path of the response body in its data.
	operation string
	result    string
	// about has a description of the route, if it differs from the description of the route's field in the schema.
	about string
	// status is the status of a success; 0 means 200. A 204 has no body.
	status int
	// location is a path for the Location header. Members of the response body replace {member} segments.
	location string
	// lookup is a variable for which v1 answers a failed lookup with 400. If the object that it names does not exist, the
	// error is BAD_INPUT.
	lookup string
	// nullMessage has the message for a null result. If "", the message says that nothing exists at the path.
	nullMessage string
	// paged is set for lists that take pageNumber and pageSize, and return them after data and total.
	paged bool
	// strict makes the route refuse unknown properties of the body at every depth.
	strict bool
	// errorCode is the code of errors about the body. "" means BAD_INPUT.
	errorCode model.Code
	// deprecated has the dates for the parts of the operation that the schema marks @deprecated.
	deprecated deprecation
	// aliases maps alternative names, which other routes use, to members of the body. Such a name counts only if its value
	// is a list.
	aliases map[string]string
	// state reads the current state of the resource, for If-Match.
	state state
	// clearable names a member that null sets to "". For other members null means absent.
	clearable string
}

// routes are the routes of v1. The first route that matches the path and the method answers.
var routes = []route{
	{method: http.MethodGet, path: "/Agent/{agentId}", operation: "GetAgent", result: "agent"},
	{method: http.MethodPut, path: "/Agent/{agentId}/prompt", operation: "ReplacePrompt",
		result: "updateAgentPrompt.agent", state: state{"GetAgent", "AgentRevision", "agent"}},

	{method: http.MethodPut, path: "/Agent/{agentId}/chat", operation: "ConnectAgentChat",
		result: "connectKnowledgeBaseChat.agent", state: state{"GetAgentChat", "AgentRevision", "agent"}},
	{method: http.MethodGet, path: "/Agent/{agentId}/chat", operation: "GetAgentChat", result: "agent",
		about: "The knowledge base chat of an agent. `chatId` and `chatName` are null when it has none."},
	{method: http.MethodDelete, path: "/Agent/{agentId}/chat", operation: "DisconnectAgentChat",
		result: "disconnectKnowledgeBaseChat.agent", status: http.StatusNoContent},

	{method: http.MethodPost, path: "/SimulationChat/start", operation: "StartSimulationChat",
		result: "startSimulationChat.simulationChat", strict: true, errorCode: model.Unprocessable,
		location: "/SimulationChat/{simulationChatId}"},
	{method: http.MethodPost, path: "/SimulationChat/send-message", operation: "SendSimulationMessage",
		result: "sendSimulationMessage.simulationChat", strict: true},
	{method: http.MethodGet, path: "/SimulationChat/{simulationChatId}", operation: "GetSimulationChat",
		result: "simulationChat"},

	{method: http.MethodPost, path: "/AgentTest/simulation", operation: "CreateSimulationTest",
		result: "createSimulationTest.agentTest", location: "/AgentTest/{id}",
		aliases: map[string]string{"conversationMessages": "conversationContext"}},
	{method: http.MethodPost, path: "/AgentTest/classification", operation: "CreateClassificationTest",
		result: "createClassificationTest.agentTest", location: "/AgentTest/{id}"},
	{method: http.MethodPatch, path: "/AgentTest/{testId}", operation: "UpdateAgentTest",
		result: "updateAgentTest.agentTest", aliases: map[string]string{"conversationContext": "conversationMessages"},
		clearable: "folderId", state: state{"GetAgentTest", "AgentTestRevision", "agentTest"}},
	{method: http.MethodGet, path: "/AgentTest", operation: "ListAgentTests", result: "agentTests", paged: true},
	{method: http.MethodGet, path: "/AgentTest/{testId}", operation: "GetAgentTest", result: "agentTest"},
	{method: http.MethodDelete, path: "/AgentTest/{testId}", operation: "DeleteAgentTest", result: "deleteAgentTest",
		status: http.StatusNoContent},

	{method: http.MethodPost, path: "/AgentTestFolder", operation: "CreateAgentTestFolder",
		result: "createAgentTestFolder.folder", location: "/AgentTestFolder/{id}"},
	{method: http.MethodGet, path: "/AgentTestFolder", operation: "ListAgentTestFolders", result: "agentTestFolders",
		paged: true},
	{method: http.MethodGet, path: "/AgentTestFolder/{folderId}", operation: "GetAgentTestFolder",
		result: "agentTestFolder"},
	{method: http.MethodPatch, path: "/AgentTestFolder/{folderId}", operation: "UpdateAgentTestFolder",
		result: "updateAgentTestFolder.folder", state: state{"GetAgentTestFolder", "AgentTestFolderRevision",
			"agentTestFolder"}},
	{method: http.MethodDelete, path: "/AgentTestFolder/{folderId}", operation: "DeleteAgentTestFolder",
		result: "deleteAgentTestFolder", status: http.StatusNoContent},

	{method: http.MethodPost, path: "/AgentTestExecution", operation: "StartAgentTestExecution",
		result: "startAgentTestExecution.execution", location: "/AgentTestExecution/{id}"},
	{method: http.MethodGet, path: "/AgentTestExecution", operation: "ListAgentTestExecutions",
		result: "agentTestExecutions", paged: true},
	{method: http.MethodGet, path: "/AgentTestExecution/{executionId}", operation: "GetAgentTestExecution",
		result: "agentTestExecution"},
	{method: http.MethodPost, path: "/AgentTestExecution/{executionId}/cancel", operation: "CancelAgentTestExecution",
		result: "cancelAgentTestExecution.execution", status: http.StatusAccepted},
	{method: http.MethodPost, path: "/AgentTestExecution/{executionId}/retry", operation: "RetryAgentTestExecution",
		result: "retryAgentTestExecution.execution", status: http.StatusAccepted, location: "/AgentTestExecution/{id}"},
	{method: http.MethodGet, path: "/AgentTestRun", operation: "ListAgentTestRuns", result: "agentTestRuns",
		paged: true},
	{method: http.MethodGet, path: "/AgentTestRun/{runId}", operation: "GetAgentTestRun", result: "agentTestRun"},

	{method: http.MethodGet, path: "/Consumption/breakdown", operation: "GetConsumptionBreakdown",
		result: "consumptionBreakdown"},
	{method: http.MethodGet, path: "/Subscription", operation: "GetSubscription", result: "company.subscription",
		about: "The plan of the company.", nullMessage: "the company has no plan"},

	{method: http.MethodGet, path: "/CampaignItem/{campaignId}", operation: "ListCampaignItems",
		result: "campaignItems", paged: true, lookup: "campaignId"},
	{method: http.MethodPost, path: "/CampaignItem/{campaignId}", operation: "AddCampaignItems",
		result: "addCampaignItems", lookup: "campaignId"},
	{method: http.MethodGet, path: "/CampaignItem/{campaignId}/{itemId}", operation: "GetCampaignItem",
		result: "campaignItem", lookup: "campaignId"},
	{method: http.MethodDelete, path: "/CampaignItem/{campaignId}/{itemId}", operation: "DeleteCampaignItem",
		result: "deleteCampaignItem", lookup: "campaignId", status: http.StatusNoContent},
	{method: http.MethodPost, path: "/CampaignItem/{campaignId}/{itemId}/reset", operation: "ResetCampaignItem",
		result: "resetCampaignItem.item", lookup: "campaignId"},
	{method: http.MethodGet, path: "/CampaignField", operation: "ListCampaignFields", result: "campaign",
		lookup: "campaignId", about: "The fields of a campaign, including its agent's."},
	{method: http.MethodPost, path: "/CampaignField", operation: "AddCampaignField", result: "addCampaignField.field",
		lookup: "campaignId"},

	{method: http.MethodGet, path: "/KnowledgeBaseChat", operation: "ListKnowledgeBaseChats",
		result: "knowledgeBaseChats", paged: true},
	{method: http.MethodGet, path: "/KnowledgeBaseChat/{chatId}", operation: "GetKnowledgeBaseChat",
		result: "knowledgeBaseChat"},
	{method: http.MethodPatch, path: "/KnowledgeBaseChat/{chatId}", operation: "UpdateKnowledgeBaseChat",
		result: "updateKnowledgeBaseChat.knowledgeBaseChat", state: state{"GetKnowledgeBaseChat",
			"KnowledgeBaseChatRevision", "knowledgeBaseChat"}},
	{method: http.MethodDelete, path: "/KnowledgeBaseChat/{chatId}", operation: "DeleteKnowledgeBaseChat",
		result: "deleteKnowledgeBaseChat", status: http.StatusNoContent},

	{method: http.MethodGet, path: "/Dataset", operation: "ListDatasets", result: "datasets", paged: true},
	{method: http.MethodGet, path: "/Dataset/{datasetId}", operation: "GetDataset", result: "dataset"},
	{method: http.MethodPost, path: "/Dataset", operation: "CreateDataset", result: "createDataset.dataset",
		location: "/Dataset/{id}"},
	{method: http.MethodPatch, path: "/Dataset/{datasetId}", operation: "UpdateDataset",
		result: "updateDataset.dataset", state: state{"GetDataset", "DatasetRevision", "dataset"}},
	{method: http.MethodDelete, path: "/Dataset/{datasetId}", operation: "DeleteDataset", result: "deleteDataset",
		status: http.StatusNoContent},

	{method: http.MethodPost, path: "/Dataset/{datasetId}/document", operation: "AddDocument",
		result: "addDocument.document", location: "/Dataset/{datasetId}/document/{id}"},
	{method: http.MethodGet, path: "/Dataset/{datasetId}/document", operation: "ListDocuments",
		result: "dataset.documents", paged: true},
	{method: http.MethodGet, path: "/Dataset/{datasetId}/document/{documentId}", operation: "GetDocument",
		result: "document"},
	{method: http.MethodDelete, path: "/Dataset/{datasetId}/document/{documentId}", operation: "DeleteDocument",
		result: "deleteDocument", status: http.StatusNoContent},
}
