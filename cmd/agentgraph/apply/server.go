package apply

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// api sends requests, and sends them again when that may help.
type api struct {
	client *client.Client
	// firstWait is how long it waits before it sends a request a second time; each further wait is twice as long.
	firstWait time.Duration
}

// attempts bounds how often a request is sent: for about half a minute.
const attempts = 6

// again calls do until it succeeds, or fails for good.
func (a *api) again(ctx context.Context, do func() error) error {
	wait := a.firstWait
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || !client.IsTemporary(err) || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// Query is that of the client.
func (a *api) Query(ctx context.Context, document string, with client.Variables, into any) error {
	return a.again(ctx, func() error { return a.client.Query(ctx, document, with, into) })
}

// read returns everything that the server has of a kind.
func (a *api) read(ctx context.Context, query string) (nodes []object, err error) {
	texts, err := client.ReadAll[json.RawMessage](ctx, a, query, client.Variables{}, 0)
	for _, text := range texts {
		value, err := decodeJSON(text)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, value.(object))
	}
	return nodes, err
}

// load returns what the server has of the kinds, which are in their order.
func (a *api) load(ctx context.Context, of []*kind) (*company, error) {
	c := newCompany()
	for _, k := range of {
		nodes, err := a.read(ctx, k.query)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			t := &thing{kind: k, id: node.text("id"), node: node}
			if k == folder || k == simulation || k == classification {
				t.agent = c.byID[node.text("agentId")]
			}
			c.things[k] = append(c.things[k], t)
			c.byID[t.id] = t
		}
	}
	if slices.Contains(of, dataset) {
		if err := a.loadDocuments(ctx, c); err != nil {
			return nil, err
		}
	}
	c.present()
	return c, nil
}

func (a *api) loadDocuments(ctx context.Context, c *company) error {
	documents, err := a.read(ctx, documentsQuery)
	for _, d := range documents {
		if of := c.byID[d.text("datasetId")]; of != nil {
			size, _ := d.get("size")
			of.stored = append(of.stored, storedDocument{id: d.text("id"), name: d.text("name"), digest: d.text("digest"),
				size: size.(int64)})
		}
	}
	return err
}

// present brings what the server has into the form in which it can be compared.
func (c *company) present() {
	for _, t := range c.things[agent] {
		t.subAgents = map[string]*thing{}
		for _, one := range t.node.list("subAgents") {
			node := one.(object)
			s := &thing{kind: subAgent, id: node.text("id"), agent: t, node: node}
			t.subAgents[node.text("technicalName")], c.byID[s.id] = s, s
		}
	}
	found := func(_ *kind, id string, _ path) any {
		if t := c.byID[id]; t != nil {
			return t
		}
		return nil
	}
	for _, k := range kinds {
		for _, t := range c.things[k] {
			t.present = k.shape().normal(c.asFiles(t), found, path{}).(object)
		}
	}
}

// asFiles returns what the server answered with the members that files have.
func (c *company) asFiles(t *thing) object {
	node := t.node
	switch t.kind {
	case agent:
		var tools, subAgents list
		for _, one := range node.list("tools") {
			tools = append(tools, one.(object).text("id"))
		}
		for _, one := range node.list("subAgents") {
			s := one.(object)
			subAgents = append(subAgents, s.with("delegateAgentId", s.object("agent").text("id")))
		}
		return node.with("toolIds", tools).with("subAgents", subAgents)
	case campaign:
		id := node.object("agent").text("id")
		var own list
		for _, one := range node.list("fields") {
			if !c.byID[id].hasField(one.(object).text("name")) {
				own = append(own, one)
			}
		}
		return node.with("agentId", id).with("fields", own)
	}
	return node
}

// hasField reports whether an agent of the server has the field.
func (t *thing) hasField(name string) bool {
	return t != nil && slices.ContainsFunc(t.node.list("fields"),
		func(f any) bool { return f.(object).text("name") == name })
}
