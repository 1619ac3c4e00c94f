// Package rest serves v1 REST as stored GraphQL operations. Each route of the table names an
// operation of the operations folder: the names in the path and the members of the JSON body are the
// operation's variables, aliases and fragments write the v1 shape, and the response body is the part
// of the operation's data at the route's result.
package rest

import (
	"net/http"

	"github.com/agentgraph/agentgraph/model"
)

// route is one operation of v1.
type route struct {
	method string
	// path holds literal segments, matched ignoring case, and {variable} segments.
	path string
	// operation is the name of the stored operation, and result the path in its data to the response
	// body.
	operation string
	result    string
	// status is that of a success; 0 stands for 200. A 204 has no body.
	status int
	// location is a path for the Location header; {member} is filled from the response body.
	location string
	// paged lists take pageNumber and pageSize and answer them behind data and total.
	paged bool
	// strict bodies refuse unknown properties, at every depth.
	strict bool
	// faults is the code of what is wrong with the body; BAD_INPUT when empty.
	faults model.Code
}

// routes is v1. Where several paths match, the first with the request's method answers.
var routes = []route{
	{method: http.MethodGet, path: "/Agent/{agentId}", operation: "GetAgent", result: "agent"},
	{method: http.MethodPut, path: "/Agent/{agentId}/prompt", operation: "ReplacePrompt", result: "updateAgentPrompt.agent"},

	{method: http.MethodPut, path: "/Agent/{agentId}/chat", operation: "ConnectAgentChat", result: "connectKnowledgeBaseChat.agent"},
	{method: http.MethodGet, path: "/Agent/{agentId}/chat", operation: "GetAgentChat", result: "agent"},
	{method: http.MethodDelete, path: "/Agent/{agentId}/chat", operation: "DisconnectAgentChat", result: "disconnectKnowledgeBaseChat.agent",
		status: http.StatusNoContent},

	{method: http.MethodPost, path: "/SimulationChat/start", operation: "StartSimulationChat", result: "startSimulationChat.simulationChat",
		strict: true, faults: model.Unprocessable},
	{method: http.MethodPost, path: "/SimulationChat/send-message", operation: "SendSimulationMessage", result: "sendSimulationMessage.simulationChat",
		strict: true},
	{method: http.MethodGet, path: "/SimulationChat/{simulationChatId}", operation: "GetSimulationChat", result: "simulationChat"},

	{method: http.MethodGet, path: "/KnowledgeBaseChat", operation: "ListKnowledgeBaseChats", result: "knowledgeBaseChats", paged: true},
	{method: http.MethodGet, path: "/KnowledgeBaseChat/{chatId}", operation: "GetKnowledgeBaseChat", result: "knowledgeBaseChat"},
	{method: http.MethodPatch, path: "/KnowledgeBaseChat/{chatId}", operation: "UpdateKnowledgeBaseChat", result: "updateKnowledgeBaseChat.knowledgeBaseChat"},

	{method: http.MethodGet, path: "/Dataset", operation: "ListDatasets", result: "datasets", paged: true},
	{method: http.MethodGet, path: "/Dataset/{datasetId}", operation: "GetDataset", result: "dataset"},
	{method: http.MethodPost, path: "/Dataset", operation: "CreateDataset", result: "createDataset.dataset", location: "/Dataset/{id}"},
}
