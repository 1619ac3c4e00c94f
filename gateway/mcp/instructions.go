package mcp

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// instructions tell an assistant how the tools work together. A sentence is left out unless all tools that it names are
// listed.
var instructions = []string{
	"agentgraph runs conversational agents and tests them.",
	"Start with find_agents.",
	"get_agent has the prompt, tools and tests of an agent.",
	"To find out why a test is red: find_tests, then explain_red_test.",
	"To repair it: run_tests with a draft prompt, and edit_prompt once the draft passes.",
	"Chats of start_chat make no real calls unless you allow them.",
	"Tests of create_test make no real calls unless you allow them.",
	"Answers have a name beside each id.",
	"For anything without a tool, use search_schema and query.",
}

// linked is the sentence of instructions about links, for servers with a console.
const linked = "Most answers end with a link that people can open in the console."

// instructionsFor returns the instructions for a credential.
func (t *Transport) instructionsFor(principal model.Principal) string {
	var shown []string
	for _, sentence := range instructions {
		if t.lists(principal, sentence) {
			shown = append(shown, sentence)
		}
	}
	if t.Console != "" {
		shown = append(shown, linked)
	}
	return strings.Join(shown, " ")
}

// lists reports whether the credential sees every tool that the text names.
func (t *Transport) lists(principal model.Principal, text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	return !slices.ContainsFunc(tools, func(one tool) bool {
		ready := t.tools[one.name]
		return slices.Contains(words, one.name) && (ready == nil || missingScope(principal, ready.scopes) != "")
	})
}
