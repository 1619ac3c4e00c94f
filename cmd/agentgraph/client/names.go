package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"
)

// Object is an object on a server, with its name.
type Object struct {
	ID, Name string
	// Agent is the agent that it belongs to, if any.
	Agent struct{ ID, Name string }
}

// Kind is a type of objects that have names.
type Kind struct {
	noun, typeName string
	// list is a query for a page of the objects whose names contain the text. The query of Folders returns all folders.
	list string
	// advice tells the user how to list all objects of the kind, or is "".
	advice string
	// hasAgent is set if each object belongs to an agent.
	hasAgent bool
}

// Agents, Folders, Tests and KnowledgeBaseChats are the kinds of objects that can be found by name.
var (
	Agents = Kind{"agent", "Agent", `query ($text: String!, $after: String) {
		page: agents(filter: {nameContains: $text}, orderBy: Name, first: 100,
			after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
	}`, `: "agentgraph agents" lists them`, false}
	Folders = Kind{"test folder", "AgentTestFolder", `query ($after: String) {
		page: agentTestFolders(first: 100, after: $after) { nodes { id name agent { id name } } pageInfo { hasNextPage
			endCursor } }
	}`, "", true}
	Tests = Kind{"test", "AgentTest", `query ($text: String!, $after: String) {
		page: agentTests(filter: {nameContains: $text}, first: 100, after: $after) {
			nodes { id name agent { id name } } pageInfo { hasNextPage endCursor }
		}
	}`, `: "agentgraph test list" lists them`, true}
	KnowledgeBaseChats = Kind{"knowledge base chat", "KnowledgeBaseChat", `query ($text: String!, $after: String) {
		page: knowledgeBaseChats(filter: {nameContains: $text}, first: 100, after: $after) { nodes { id name } pageInfo {
			hasNextPage endCursor } }
	}`, "", false}
)

// maxCandidates is how many objects an error lists at most.
const maxCandidates = 5

// Find returns the object with the id or the name. Names match ignoring case, but an exact match wins. With agentIDs,
// it searches only the objects of those agents. If several match, the error lists them.
func (c *Client) Find(ctx context.Context, kind Kind, text string, agentIDs ...string) (Object, error) {
	return c.find(ctx, kind, text, false, agentIDs)
}

// FindAll returns the ids of the objects that a flag names. It searches like Find.
func (c *Client) FindAll(ctx context.Context, kind Kind, texts []string, agentIDs ...string) ([]string, error) {
	ids := make([]string, len(texts))
	for i, text := range texts {
		found, err := c.Find(ctx, kind, text, agentIDs...)
		if err != nil {
			return nil, err
		}
		ids[i] = found.ID
	}
	return ids, nil
}

// FindByPart is like Find, but also accepts a part of a name if only one object matches.
func (c *Client) FindByPart(ctx context.Context, kind Kind, text string) (Object, error) {
	return c.find(ctx, kind, text, true, nil)
}

func (c *Client) find(ctx context.Context, kind Kind, text string, byPart bool, agentIDs []string) (Object, error) {
	if strings.TrimSpace(text) == "" {
		return Object{}, NotFound(fmt.Sprintf("the name of the %s must not be empty", kind.noun))
	}
	isOther := func(n Object) bool { return len(agentIDs) > 0 && !slices.Contains(agentIDs, n.Agent.ID) }
	foreign := func(n Object) error {
		return NotFound(fmt.Sprintf("%s %q belongs to agent %q, which --agent does not name", kind.noun, text,
			Printable(n.Agent.Name)))
	}
	byID, err := c.byID(ctx, kind, text)
	switch {
	case err != nil:
		return Object{}, err
	case byID.ID != "" && isOther(byID):
		return Object{}, foreign(byID)
	case byID.ID != "":
		return byID, nil
	}
	isNamed := func(n Object) bool { return strings.EqualFold(norm.NFC.String(n.Name), norm.NFC.String(text)) }
	similar, err := c.Search(ctx, kind, text)
	if err != nil {
		return Object{}, err
	}
	others := filter(similar, func(n Object) bool { return isOther(n) && isNamed(n) })
	similar = slices.DeleteFunc(similar, isOther)
	found := filter(similar, func(n Object) bool { return n.Name == text })
	if len(found) == 0 {
		found = filter(similar, isNamed)
	}
	if len(found) == 0 && byPart {
		found = similar
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Object{}, NotFound(fmt.Sprintf("%q matches several objects: %s. Pass an id "+
			"instead", text, candidates(found, true)))
	case len(others) > 0:
		return Object{}, foreign(others[0])
	case len(similar) > 0:
		advice := ""
		if !strings.Contains(text, ",") && slices.ContainsFunc(similar, hasComma) {
			advice = ` In a list, write \, for a comma in a name`
		}
		return Object{}, NotFound(fmt.Sprintf("%s %q does not exist; did you mean %s?%s", kind.noun, text,
			candidates(similar, false), advice))
	}
	return Object{}, NotFound(fmt.Sprintf("%s %q does not exist%s", kind.noun, text, kind.advice))
}

// byID returns the object with the id, or the zero value if there is none.
func (c *Client) byID(ctx context.Context, kind Kind, id string) (Object, error) {
	var read struct{ Node Object }
	fields := "id name"
	if kind.hasAgent {
		fields += " agent { id name }"
	}
	err := c.Query(ctx, `query ($id: ID!) { node(id: $id) { ... on `+kind.typeName+` { `+fields+` } } }`, Variables{"id": id},
		&read)
	return read.Node, err
}

// Search returns the objects whose names contain the text, ignoring case.
func (c *Client) Search(ctx context.Context, kind Kind, text string) ([]Object, error) {
	all, err := ReadAll[Object](ctx, c, kind.list, Variables{"text": text}, 0)
	// The server compares agent names in their stored form.
	if other := norm.NFC.String(text); err == nil && len(all) == 0 && other != text {
		all, err = ReadAll[Object](ctx, c, kind.list, Variables{"text": other}, 0)
	}
	normal := func(text string) string { return strings.ToLower(norm.NFC.String(text)) }
	return filter(all, func(n Object) bool { return strings.Contains(normal(n.Name), normal(text)) }), err
}

func filter(all []Object, isKept func(Object) bool) []Object {
	return slices.DeleteFunc(slices.Clone(all), func(n Object) bool { return !isKept(n) })
}

func hasComma(n Object) bool { return strings.Contains(n.Name, ",") }

// candidates lists the names of objects for an error. With withIDs it adds their ids and agents.
func candidates(all []Object, withIDs bool) string {
	var texts []string
	for _, n := range all[:min(len(all), maxCandidates)] {
		text := fmt.Sprintf("%q", Printable(n.Name))
		if withIDs && n.Agent.Name != "" {
			text += fmt.Sprintf(" of agent %q", Printable(n.Agent.Name))
		}
		if withIDs {
			text += " (" + n.ID + ")"
		}
		texts = append(texts, text)
	}
	if more := len(all) - maxCandidates; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// completeTimeout bounds how long the shell waits for names.
const completeTimeout = time.Second

// CompleteNames returns a function that completes the names of objects on the server. It completes nothing if the
// server does not answer in time.
func (f *Flags) CompleteNames(kind Kind) func(cmd *cobra.Command, prefix string) []string {
	return func(cmd *cobra.Command, prefix string) []string {
		server, err := f.Connect(cmd)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		found, _ := server.Search(ctx, kind, prefix)
		names := make([]string, len(found))
		for i, n := range found {
			names[i] = Printable(n.Name)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// CompleteContexts completes names of contexts.
func CompleteContexts(*cobra.Command, string) []string {
	contexts, err := ReadContexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(contexts.Servers))
}
