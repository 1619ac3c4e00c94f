package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"
)

// tool is a tool for assistants. It runs a stored operation, or run.
type tool struct {
	name, title string
	// about tells an assistant when to use the tool. The schema describes the inputs.
	about string
	// operation is the name of the stored operation. result is the path of the answer in its data.
	operation, result string
	// follow names a subscription that ends when the work that the operation started is finished. The query answer then
	// reads the outcome. Their variables are filled by name, from the tool's input and from the operation's result.
	// continueTool names the tool that continues to wait.
	follow, followResult, answer, answerResult, continueTool string
	// suspends is set if the operation waits for an agent's answer, and therefore waits if a call of the agent waits for a
	// person's approval. The input then has waitSeconds.
	suspends bool
	// link is a path of the console. Members of the answer or of the input replace {member}, and {member?} if it may
	// be missing.
	link string
	// warn returns a note about an answer that is easy to misuse, or "".
	warn func(result json.RawMessage) string
	// isDestructive is set if the tool deletes, disconnects or overwrites something. Tools that change a prompt keep its
	// earlier versions, so they are not destructive. isIdempotent is set if a repeated call changes nothing more. isOpen
	// is set if the tool may reach other systems.
	isDestructive, isIdempotent, isOpen bool
	// input and run describe a tool without a stored operation. mutateAbout replaces about for credentials with the scope
	// mutate.
	input       ast.FieldList
	mutateAbout string
	run         func(t *Transport, ctx context.Context, input map[string]any) *sdk.CallToolResult
}

// tools lists all tools, grouped by task.
var tools = []tool{
	{name: "find_agents", title: "Find agents", operation: "FindAgents", result: "agents", link: "/agents",
		about: "Lists the company's agents by name, with their ids. Start here: most other tools need an agent's id."},
	{name: "get_agent", title: "Read an agent", operation: "GetAgent", result: "agent", link: "/agents/{id}",
		about: "Reads one agent with everything around it: the prompt and its version, fields, tools, sub-agents, " +
			"knowledge base, its newest 20 tests with their last results, and its last test executions. A prompt is " +
			"long: pass withPrompt: false if you do not need it."},
	{name: "create_agent", title: "Create an agent", operation: "CreateAgent", result: "createAgent.agent",
		link: "/agents/{id}",
		about: "Creates an agent with its first prompt. Declare every {placeholder} of the prompt as a field. " +
			"Connect tools afterwards with connect_tool."},
	{name: "change_prompt", title: "Change a prompt", operation: "ChangePrompt", result: "updateAgentPrompt.agent",
		link: "/agents/{id}/versions",
		about: "Replaces the whole prompt of an agent, which becomes a new version. Use it only to rewrite a prompt; " +
			"edit_prompt changes a part. Send the complete text. Pass the promptVersion that you read as " +
			"expectedVersion, so that you do not overwrite somebody else's change. Try a prompt first: run_tests and " +
			"start_chat take a prompt that is not saved."},
	{name: "edit_prompt", title: "Change a part of a prompt", operation: "EditPrompt", result: "editAgentPrompt.agent",
		link: "/agents/{id}/versions",
		about: "Replaces parts of the prompt of an agent, and keeps every other word. Prefer it to change_prompt. " +
			"Each edit has before, a text that occurs exactly once, copied from get_agent, and after, the text that " +
			"replaces it. To insert a sentence, repeat the one next to it in after. All edits become one new " +
			"version, or none applies. Pass the promptVersion that you read as expectedVersion. Try the change " +
			"first: run_tests and start_chat take the whole prompt without saving it."},
	{name: "list_prompt_versions", title: "List prompt versions", operation: "ListPromptVersions",
		result: "agent.promptVersions", link: "/agents/{agentId}/versions",
		about: "Lists the versions of an agent's prompt, newest first, with who wrote them, why, and how its tests " +
			"did with each. get_prompt_version has the text of one."},
	{name: "get_prompt_version", title: "Read a prompt version", operation: "GetPromptVersion", result: "node",
		about: "Reads the text of an earlier or current prompt of an agent, by the id of the version from " +
			"list_prompt_versions."},
	{name: "restore_prompt", title: "Roll back a prompt", operation: "RestorePrompt",
		result: "restoreAgentPrompt.agent", link: "/agents/{id}/versions",
		about: "Rolls the prompt of an agent back to an earlier version, by its number. The restored text becomes a " +
			"new version, so nothing is lost."},

	{name: "find_tools", title: "Find tools of agents", operation: "FindTools", result: "tools", link: "/agents",
		about: "Lists the functions that agents can call, with the JSON Schema of their arguments, their endpoints or " +
			"MCP servers, and the agents that have them. Calls of a tool with missingSince fail, because its MCP server no " +
			"longer offers it."},
	{name: "create_tool", title: "Create a tool of agents", operation: "CreateTool", result: "createTool.tool",
		about: "Creates a function that agents can call: with an endpoint and a JSON Schema of its arguments, or from " +
			"an offer of an MCP server, with mcpServerId and mcpName. The arguments of an offer come from the server. With " +
			"neither, the tool works only where it is mocked. Then connect it to an agent with connect_tool."},
	{name: "connect_tool", title: "Connect a tool to an agent", operation: "ConnectTool", result: "connectTool.agent",
		link: "/agents/{id}", isIdempotent: true,
		about: "Lets an agent call a tool. Connecting it again changes nothing."},
	{name: "disconnect_tool", title: "Disconnect a tool from an agent", operation: "DisconnectTool",
		result: "disconnectTool.agent", link: "/agents/{id}", isDestructive: true,
		about: "Takes a tool away from an agent. The tool itself remains."},

	{name: "find_knowledge", title: "Find knowledge bases", operation: "FindKnowledge", result: "knowledgeBaseChats",
		link:  "/knowledge",
		about: "Lists the knowledge bases that agents answer from, with their datasets and documents."},
	{name: "ask_knowledge", title: "Ask a knowledge base", operation: "AskKnowledge", result: "knowledgeBaseChat",
		link: "/knowledge/chats/{id}",
		about: "Shows which passages a knowledge base finds for a question, best first, as an agent would get them. " +
			"Passages with isBelowThreshold are not used in conversations. get_agent and find_knowledge have the ids."},
	{name: "add_document", title: "Add a document", operation: "AddDocument", result: "addDocument.document",
		link: "/knowledge/documents/{id}",
		about: "Adds a text to a dataset of a knowledge base. Agents find it once its status is Ready, usually " +
			"within seconds. A text that is too large for a request, which is 1 MiB by default, is uploaded as a file " +
			"in the console."},

	{name: "start_chat", title: "Start a chat with an agent", operation: "StartChat", isOpen: true,
		result: "startSimulationChat.simulationChat", link: "/chats/{id}",
		about: "Starts a simulated chat, in which you are the contact. Then talk with send_message. dataBag has the " +
			"values of the agent's fields. By default the agent's real calls are refused; mock tools with toolMocking. " +
			"prompt tries a prompt without saving it."},
	{name: "send_message", title: "Talk to an agent", operation: "SendMessage", result: "sendSimulationMessage",
		isOpen: true, suspends: true, link: "/chats/{chatId}",
		about: "Says something to an agent in a simulated chat, and returns its reply. get_chat shows the calls " +
			"that it made. If a call needs the approval of a person and gets none in time, the error says how to " +
			"continue."},
	{name: "get_chat", title: "Read a chat", operation: "GetChat", result: "simulationChat", link: "/chats/{id}",
		about: "Reads a simulated chat with all messages and all calls of the agent. While its status is Replying, calls " +
			"can still be running, or wait for a person in pendingApprovals."},

	{name: "find_tests", title: "Find tests", operation: "FindTests", result: "agentTests", link: "/tests",
		about: "Lists agent tests with their last results. For red tests, pass lastRunStatuses [\"Failed\", " +
			"\"Error\"]. Then explain_red_test says why one is red."},
	{name: "get_test", title: "Read a test", operation: "GetTest", result: "agentTest",
		link: "/tests?agent={agent.id}&edit={id}",
		about: "Reads one test: what the contact does, what is expected, what is mocked, and its last results. update_test " +
			"takes its checks and mocks in the same form."},
	{name: "create_test", title: "Write a test", operation: "CreateTest", result: "createSimulationTest.agentTest",
		link: "/tests?agent={agentId}&edit={id}",
		about: "Writes a test in which a simulated contact talks to an agent. The scenario says who the contact is " +
			"and what it wants. Prefer checks, which the program decides exactly, such as {\"expect\": {\"says\": " +
			"{\"text\": \"8 am\"}}} or {\"expect\": {\"called\": {\"technicalName\": \"book\"}}}; criteria are " +
			"sentences for a judge. By default the agent's real calls are refused; mock tools with toolMocking. Then " +
			"run it with run_tests."},
	{name: "create_test_from_chat", title: "Turn a chat into a test", operation: "CreateTestFromChat",
		result: "createTestFromSimulationChat",
		about: "Turns a simulated chat into a test that continues from it, with its data and with mocks that repeat " +
			"what its tools answered."},
	{name: "update_test", title: "Change a test", operation: "UpdateTest", result: "updateSimulationTest.agentTest",
		isDestructive: true,
		about: "Changes a test with a simulated contact. Inputs that are absent keep their values; lists are " +
			"replaced."},
	{name: "delete_test", title: "Delete a test", operation: "DeleteTest", result: "deleteAgentTest",
		isDestructive: true,
		about:         "Permanently deletes a test. Its runs remain in their executions."},

	{name: "run_tests", title: "Run tests", operation: "StartTests", result: "startAgentTestExecution.execution",
		follow: "FollowTests", followResult: "agentTestExecutionUpdated", answer: "GetResults",
		answerResult: "agentTestExecution", continueTool: "get_results",
		link:   "/tests?agent={agent.id}&execution={executionId}",
		isOpen: true,
		about: "Runs tests and waits for their results: exactly one of testIds, folderId, or agentId for all tests " +
			"of an agent. Pass a prompt to try it without saving it, and repeats to see whether a result is chance. " +
			"Pass variants to compare prompts and models on the same tests; the others are compared with the first. " +
			"get_run shows the conversation of a red run."},
	{name: "get_results", title: "Wait for results of tests", follow: "FollowTests",
		followResult: "agentTestExecutionUpdated", answer: "GetResults", answerResult: "agentTestExecution",
		continueTool: "get_results", link: "/tests?agent={agent.id}&execution={executionId}",
		about: "Waits until an execution of tests has ended, or until waitSeconds are over, and reads its results " +
			"with its first 20 red runs."},
	{name: "find_results", title: "Find results of tests", operation: "FindResults", result: "agentTestExecutions",
		link:  "/tests",
		about: "Lists test executions, newest first, with their verdicts. compare_results compares two."},
	{name: "get_run", title: "Read a run of a test", operation: "GetRun", result: "agentTestRun", link: "/runs/{id}",
		about: "Reads one run of a test: the conversation, the agent's calls, and the verdict on each check and " +
			"criterion with quotes. Use it to see what a red run did."},
	{name: "explain_red_test", title: "Say why a test is red", operation: "ExplainRedTest", result: "agentTest",
		link: "/tests/{testId}/blame", warn: warnOfNewerPrompt,
		about: "Says why a test is red: what failed in its last run, and which sentences of the prompt changed " +
			"since it last passed. Use it first for a red test. Start with blame.suspects, the changes of words that " +
			"the failed checks look for; blame.changes has all changes. With several suspects or none, search_cause finds " +
			"the cause by running the test. Save the repair with edit_prompt. Without changes, the prompt is the same: " +
			"compare goodRunId and badRunId with get_run, because a tool, a model or chance made " +
			"the difference. blame is null if the test never passed."},
	{name: "search_cause", title: "Search what broke a test", operation: "StartBlame", result: "startBlame.search",
		follow: "FollowBlame", followResult: "blameUpdated", answer: "ExplainRedTest", answerResult: "agentTest",
		continueTool: "explain_red_test", link: "/tests/{testId}/blame", warn: warnOfNewerPrompt, isOpen: true,
		about: "Finds the change of the prompt that broke a red test, by running the test with some changes " +
			"restored. This costs up to 400 runs; explain_red_test is free. To restore the cause, call " +
			"edit_prompt with an edit for each entry of blame.search.cause: replace its after with its before. If after " +
			"is null, the sentence was removed: insert its before where blame.search.restoredPrompt has it. " +
			"explain_red_test returns restoredPrompt on request. It is the prompt of " +
			"blame.search.badVersion with the cause restored; try it with run_tests. If " +
			"agent.promptVersion is newer than badVersion, run the test again and search again."},
	{name: "compare_results", title: "Compare test executions", operation: "CompareResults",
		result: "compareAgentTestExecutions",
		link:   "/compare?base={baseId}&head={headId}&baseVariant={baseVariant?}&headVariant={headVariant?}",
		about: "Compares two test executions, such as before and after a change, and says whether the " +
			"difference is more than chance. Ship the change unless conclusion is Regressed. If an execution has " +
			"variants, name one as baseVariant or headVariant."},
	{name: "get_usage", title: "Explain usage", operation: "GetUsage", result: "consumptionBreakdown",
		link: "/consumption",
		about: "Reads what the company spent in credits between two dates, by channel, day, agent and campaign. " +
			"Dates are like 2026-03-01; both are included."},

	{name: "search_schema", title: "Search the GraphQL schema", input: searchInput, run: (*Transport).searchSchema,
		about: "Finds types and fields of the GraphQL API by words of their names or descriptions. The name of a " +
			"type lists its fields. Use it before query, for anything that has no tool."},
	{name: "validate", title: "Check a GraphQL document", input: documentInput, run: (*Transport).validate,
		about: "Checks a GraphQL document against the schema, without running it."},
	{name: "query", title: "Run a GraphQL query", input: documentInput, run: (*Transport).query,
		about: "Runs a GraphQL query, read only, for anything that has no tool. Ask only for fields that you need: " +
			"the answer has at most 100,000 bytes. Mutations are refused.",
		mutateAbout: "Runs a GraphQL query or mutation, for anything that has no tool. Prefer the tools for changes. " +
			"Check a mutation with validate first, and ask before you delete something. Real calls of agents are not refused here. " +
			"Select only fields that you need: the answer has at most 100,000 bytes."},
}
