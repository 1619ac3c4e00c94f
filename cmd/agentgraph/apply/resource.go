package apply

import (
	"cmp"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// resource is an agent, a test or another object that the files describe, that the server has, or both.
type resource struct {
	kind *kind
	// key is its name in the files, and id its id on the server. Each is "" until there is one.
	key, id string
	// agent is the agent that it belongs to, if it is a sub-agent, a folder or a test.
	agent *resource

	// raw is its description in the files. desired is the normal form of raw. at is the place of the description. raw and
	// desired are nil if the files do not describe it.
	raw, desired object
	at           path
	// node is the object that the server returned. actual is the normal form of node. Both are nil if the resource is not
	// on the server.
	node, actual object

	// subAgents are the sub-agents of an agent, by technical name.
	subAgents map[string]*resource
	// documents are the documents of a dataset in the files. stored are those on the server.
	documents []document
	stored    []storedDocument
	// isAmbiguous is set if another resource has the same name, so that only the id identifies this one.
	isAmbiguous bool
	// isDeleted is set for a tool or sub-agent that a mock on the server names, but that no longer exists.
	isDeleted bool
	// headers are the environment variables of a tool's headers, by header name.
	headers object
}

// name returns its name in the files, or else on the server.
func (t *resource) name() string { return cmp.Or(t.raw.text("name"), t.node.text("name"), t.key) }

// reference returns the name by which files refer to it.
func (t *resource) reference() string {
	if t.kind == tool || t.kind == subAgent {
		return cmp.Or(t.raw.text("technicalName"), t.node.text("technicalName"))
	}
	return cmp.Or(t.key, t.name())
}

// String returns a description for people, such as `agent "Front desk"`.
func (t *resource) String() string {
	called := t.kind.name + " " + client.Quoted(cmp.Or(t.name(), t.reference()))
	for _, version := range []object{t.desired, t.actual} {
		if in, _ := version.get("folderId"); in != nil {
			called += " in folder " + client.Quoted(in.(*resource).name())
			break
		}
	}
	if t.agent != nil {
		called += " of agent " + client.Quoted(t.agent.name())
	}
	return called
}

// changedAt returns the server's timestamp that a change must be based on.
func (t *resource) changedAt() string {
	return cmp.Or(t.node.text("updatedAt"), t.node.text("createdAt"))
}

// whole returns all of the resource's members after the change.
func (t *resource) whole() object {
	whole := object{}
	for _, f := range t.kind.members {
		now, _ := t.actual.get(f.name)
		if t.actual == nil {
			now = f.normalize(nil, nil, path{})
		}
		if wanted, isGiven := t.desired.get(f.name); isGiven {
			if parts, ok := wanted.(object); ok && f.form == merged {
				together, _ := now.(object)
				for _, part := range parts {
					together = together.with(part.name, part.value)
				}
				wanted = together
			}
			now = wanted
		}
		whole = append(whole, member{f.name, now})
	}
	return whole
}
