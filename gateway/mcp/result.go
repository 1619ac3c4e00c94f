package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql/errcode"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentgraph/agentgraph/model"
)

// maxAnswer bounds the JSON of an answer, in bytes.
const maxAnswer = 100_000

// advice maps each error code to a sentence that says what to do next.
var advice = map[model.Code]string{
	model.BadInput: "Correct the arguments, and call the tool again.",
	model.NotFound: "Find the right id with find_agents, find_tests, find_results, find_tools, find_knowledge or " +
		"list_prompt_versions. The id of a chat is in the answer of start_chat. Ids are case-sensitive.",
	model.Forbidden:      "Ask the owner of the key for a key with that scope; trying again does not help.",
	model.Conflict:       "Read the object again, and apply your change to its current state.",
	model.Unprocessable:  "Change what the message names, and call the tool again.",
	model.RateLimited:    "Wait as long as the message says, and call the tool again.",
	model.LimitExceeded:  "Ask for less: a smaller page, a shorter range, or fewer objects.",
	model.BudgetExceeded: "Ask the owner of the company for a larger budget; trying again does not help.",
	model.UpstreamFailed: "Call the tool again. If it fails again, a language model or a tool behind it has a problem.",
	model.Unavailable:    "Call the tool again in a few seconds.",
	model.Internal:       "Call the tool again. If it fails again, tell the operator, who finds the cause in the log.",
	errcode.ParseFailed:  "Correct the document. validate checks it without running it.",
	// search_schema knows all names.
	errcode.ValidationFailed: "Find types and fields with search_schema, and correct the document.",
}

// errorResult returns the error as a result: its code, its message, the fault of each argument, what to do next, and
// notes.
func errorResult(err *model.Error, notes ...string) *sdk.CallToolResult {
	text := fmt.Sprintf("%s: %s", err.Code, err.Message)
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	for _, name := range slices.Sorted(maps.Keys(err.Fields)) {
		text += fmt.Sprintf("\n- %s: %s", cmp.Or(name, "arguments"), strings.Join(err.Fields[name], "; "))
	}
	if next := advice[err.Code]; next != "" && err.Message != waitsForPerson {
		text += "\n" + next
	}
	return withNotes(&sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, notes)
}

// jsonResult returns a JSON object as a result, with notes for people and assistants after it.
func jsonResult(result json.RawMessage, notes ...string) *sdk.CallToolResult {
	if len(result) > maxAnswer {
		return errorResult(model.Errorf(model.LimitExceeded, "the answer has %d bytes, more than the limit of %d",
			len(result), maxAnswer))
	}
	return withNotes(&sdk.CallToolResult{StructuredContent: result,
		Content: []sdk.Content{&sdk.TextContent{Text: string(result)}}}, notes)
}

// warnOfNewerPrompt returns a note if the agent's prompt was changed after the version that a search repaired. The
// result is a test with its last search for the cause of a failure.
func warnOfNewerPrompt(result json.RawMessage) string {
	var test struct {
		Agent struct{ PromptVersion int32 }
		Blame *struct {
			Search *struct {
				BadVersion int32
				Cause      []json.RawMessage
			}
		}
	}
	if json.Unmarshal(result, &test) != nil || test.Blame == nil || test.Blame.Search == nil ||
		len(test.Blame.Search.Cause) == 0 || test.Blame.Search.BadVersion == test.Agent.PromptVersion {
		return ""
	}
	return fmt.Sprintf("restoredPrompt is version %d with the cause restored, but the agent's prompt is version %d now. "+
		"Saving restoredPrompt would undo the later changes. Run the test again with run_tests. If it is still red, "+
		"call search_cause again.", test.Blame.Search.BadVersion, test.Agent.PromptVersion)
}

func withNotes(r *sdk.CallToolResult, notes []string) *sdk.CallToolResult {
	for _, note := range notes {
		if note != "" {
			r.Content = append(r.Content, &sdk.TextContent{Text: note})
		}
	}
	return r
}

// mergeMembers adds the members of a JSON object to the input.
func mergeMembers(result json.RawMessage, input map[string]any) {
	if len(result) > 0 {
		_ = json.Unmarshal(result, &input) // an operation's result is a JSON object
	}
}

// placeholder matches {member}, and {member?} for a member that the link does not need.
var placeholder = regexp.MustCompile(`\{[a-zA-Z.]+\??\}`)

// linkTo returns a note with the address of the tool's page in the console. It is "" if there is none.
func (t *Transport) linkTo(ctx context.Context, link string, result json.RawMessage, input map[string]any) string {
	if link == "" || t.Console == "" {
		return ""
	}
	known := maps.Clone(input)
	mergeMembers(result, known)
	isComplete := true
	path := placeholder.ReplaceAllStringFunc(link, func(name string) string {
		text := textAt(known, strings.Split(strings.Trim(name, "{?}"), "."))
		isComplete = isComplete && (text != "" || strings.HasSuffix(name, "?}"))
		return url.QueryEscape(text)
	})
	if !isComplete {
		return ""
	}
	r := callOf(ctx).request
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return "In the console: " + scheme + "://" + r.Host + t.Console + path
}

func textAt(values map[string]any, path []string) string {
	for _, name := range path[:len(path)-1] {
		values, _ = values[name].(map[string]any)
	}
	text, _ := values[path[len(path)-1]].(string)
	return text
}
