package apply

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// api is a client that reads whole companies.
type api struct{ *client.Client }

// readResources returns all resources that a query lists. isWhole is set for a query without pages.
func (a *api) readResources(ctx context.Context, query string, isWhole bool) (nodes []object, err error) {
	var read struct{ Page []json.RawMessage }
	if isWhole {
		err = a.Query(ctx, query, client.Variables{}, &read)
	} else {
		read.Page, err = client.ReadAll[json.RawMessage](ctx, a.Client, query, client.Variables{}, 0)
	}
	for _, text := range read.Page {
		value, err := decodeJSON(text)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, value.(object))
	}
	return nodes, err
}

// load returns the server's resources of the selected kinds. The kinds must be in the order of their dependencies.
func (a *api) load(ctx context.Context, selectedKinds []*kind) (*company, error) {
	c := newCompany()
	for _, k := range selectedKinds {
		nodes, err := a.readResources(ctx, k.query(), k == mcpServer)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			t := &resource{kind: k, id: node.text("id"), node: node}
			if k == folder || k.isTest() {
				t.agent = c.byID[node.text("agentId")]
			}
			c.resources[k] = append(c.resources[k], t)
			c.byID[t.id] = t
		}
	}
	if slices.Contains(selectedKinds, dataset) {
		if err := a.loadDocuments(ctx, c); err != nil {
			return nil, err
		}
	}
	c.normalizeNodes()
	return c, nil
}

func (a *api) loadDocuments(ctx context.Context, c *company) error {
	documents, err := a.readResources(ctx, documentsQuery, false)
	for _, d := range documents {
		if dataset := c.byID[d.text("datasetId")]; dataset != nil {
			size, _ := d.get("size")
			dataset.stored = append(dataset.stored, storedDocument{id: d.text("id"), name: d.text("name"),
				digest: d.text("digest"), size: size.(int64)})
		}
	}
	return err
}

// normalizeNodes sets the normal form of each resource on the server. Normal forms can be compared.
func (c *company) normalizeNodes() {
	for _, t := range c.resources[agent] {
		t.subAgents = map[string]*resource{}
		for _, one := range t.node.list("subAgents") {
			node := one.(object)
			s := &resource{kind: subAgent, id: node.text("id"), agent: t, node: node}
			t.subAgents[node.text("technicalName")], c.byID[s.id] = s, s
		}
	}
	for _, k := range kinds {
		found := func(to *kind, id string, _ path) any {
			if t := c.byID[id]; t != nil {
				return t
			}
			if k == simulation && (to == tool || to == subAgent) {
				if c.deleted[id] == nil {
					c.deleted[id] = &resource{kind: to, id: id, node: object{{"technicalName", id}}, isDeleted: true}
				}
				return c.deleted[id]
			}
			return nil
		}
		for _, t := range c.resources[k] {
			t.actual = k.shape().normalize(c.asFiles(t), found, path{}).(object)
		}
	}
}

// asFiles returns a server's node with the members that files use.
func (c *company) asFiles(t *resource) object {
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
	case tool:
		if server := node.object("mcpServer"); server != nil {
			return node.with("mcpServerId", server.text("id"))
		}
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

// hasField reports whether the agent has the field on the server.
func (t *resource) hasField(name string) bool {
	return t != nil && slices.ContainsFunc(t.node.list("fields"),
		func(f any) bool { return f.(object).text("name") == name })
}
