package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// resource is a kind of object that clients can read by its address.
type resource struct {
	// template is the address. Its {variables} are variables of the operation.
	template, name, about, operation, result string
}

var resources = []resource{
	{"agentgraph://agents/{agentId}", "agent", "An agent with its prompt, tools and tests.", "GetAgent", "agent"},
	{"agentgraph://agents/{agentId}/prompts", "prompts", "The newest versions of an agent's prompt, with their ids.",
		"ListPromptVersions", "agent.promptVersions"},
	{"agentgraph://prompts/{promptVersionId}", "prompt", "A version of a prompt.", "GetPromptVersion", "node"},
	{"agentgraph://runs/{runId}", "run", "A run of a test: the conversation, the calls and the verdicts.", "GetRun",
		"agentTestRun"},
}

const jsonType = "application/json"

// addResources checks the table of resources, and adds them.
func (t *Transport) addResources(all *ast.QueryDocument) (err error) {
	if t.agents, err = stored.New(t.schema, all, "FindAgents", "agents"); err != nil {
		return err
	}
	if t.waiting, err = stored.New(t.schema, all, "FindWaitingChats", "simulationChats"); err != nil {
		return err
	}
	for _, one := range resources {
		o, err := stored.New(t.schema, all, one.operation, one.result)
		if err != nil {
			return fmt.Errorf("resource %s: %w", one.template, err)
		}
		t.resources[one.template] = o
		t.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: one.template, Name: one.name,
			Description: one.about, MIMEType: jsonType},
			func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return t.readResource(ctx, one.template, r.Params.URI)
			})
	}
	return nil
}

// readResource reads a resource. Its variables are the segments of its address.
func (t *Transport) readResource(ctx context.Context, template, uri string) (*sdk.ReadResourceResult, error) {
	given, input := strings.Split(uri, "/"), map[string]any{}
	for i, segment := range strings.Split(template, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && i < len(given) {
			id, err := url.PathUnescape(given[i])
			if err != nil {
				return nil, sdk.ResourceNotFoundError(uri)
			}
			input[strings.TrimSuffix(name, "}")] = id
		}
	}
	result, err := t.run(ctx, t.resources[template], input)
	if err != nil {
		return nil, failed(uri, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: jsonType,
		Text: string(result)}}}, nil
}

func failed(uri string, err *model.Error) error {
	if err.Code == model.NotFound {
		return sdk.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: serverError, Message: err.Error()}
}

// listResources lists the agents. Other resources are found through them and through tools.
func (t *Transport) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (*sdk.ListResourcesResult, error) {
	list := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: cacheScope}}
	principal, _ := model.PrincipalOf(ctx)
	if missingScope(principal, t.resources[resources[0].template].Scopes()) != "" {
		return list, nil
	}
	input := map[string]any{}
	if r.Params != nil && r.Params.Cursor != "" {
		input["after"] = r.Params.Cursor
	}
	result, err := t.run(ctx, t.agents, input)
	if err != nil && err.Code == model.BadInput {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of this list: " +
			"pass the nextCursor of the previous page, or no cursor"}
	}
	if err != nil {
		return nil, failed("", err)
	}
	var page struct {
		Agents   []struct{ ID, Name, Channel string }
		PageInfo struct {
			HasNextPage bool
			EndCursor   string
		}
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return nil, err
	}
	for _, agent := range page.Agents {
		list.Resources = append(list.Resources, &sdk.Resource{URI: "agentgraph://agents/" + agent.ID, Name: agent.Name,
			Description: "An agent on the channel " + agent.Channel, MIMEType: jsonType})
	}
	if page.PageInfo.HasNextPage {
		list.NextCursor = page.PageInfo.EndCursor
	}
	return list, nil
}

// prompt is a task that a person can choose in an assistant.
type prompt struct {
	name, title, about string
	argument, describe string
	// text is the task, in which the argument's value replaces %s.
	text string
}

var prompts = []prompt{
	{"repair_red_test", "Repair a red test", "Find out why a test is red, and repair the agent's prompt.", "test",
		"The name or id of the test.", `The test "%s" of agentgraph is red. Repair the agent, not the test.
1. Find the test with find_tests, and read explain_red_test. It names what failed and which sentences changed.
2. Read the prompt with get_agent. If the reason is not clear, read the red run with get_run.
3. Write the smallest change of the prompt that repairs it. Try it with run_tests: the whole prompt, 5 repeats.
4. If it passes, run all tests of the agent with the same prompt, and compare_results with its last execution.
5. Unless something regressed, show me the change as a diff. After I agree, save it with edit_prompt and a note.`},
	{"write_tests", "Write tests for an agent", "Write tests for what an agent should and should not do.", "agent",
		"The name or id of the agent.", `Write tests for the agent "%s" of agentgraph.
1. Read the agent with find_agents and get_agent, and its tests with find_tests.
2. List the promises of its prompt that no test covers yet, also what it must refuse and what happens when a tool fails.
3. Show me at most eight tests: name, scenario, and what is checked. Prefer checks to criteria.
4. After I agree, write them with create_test, mock the tools, run them with run_tests, and explain each red one.`},
}

// maxArgument bounds the argument of a prompt, in characters.
const maxArgument = 1_000

func (t *Transport) addPrompts() {
	for _, one := range prompts {
		t.server.AddPrompt(&sdk.Prompt{Name: one.name, Title: one.title, Description: one.about,
			Arguments: []*sdk.PromptArgument{{Name: one.argument, Description: one.describe, Required: true}}},
			func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				value := r.Params.Arguments[one.argument]
				if value == "" || utf8.RuneCountInString(value) > maxArgument {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
						Message: fmt.Sprintf("%s must have 1 to %d characters", one.argument, maxArgument)}
				}
				return &sdk.GetPromptResult{Description: one.about, Messages: []*sdk.PromptMessage{{Role: "user",
					Content: &sdk.TextContent{Text: fmt.Sprintf(one.text, value)}}}}, nil
			})
	}
}
