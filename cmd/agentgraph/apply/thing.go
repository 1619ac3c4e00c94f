package apply

import (
	"cmp"
	"fmt"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// thing is something that the files describe, that the server has, or both.
type thing struct {
	kind *kind
	// key is what files call it by, id the server's; "" until there is one.
	key, id string
	// agent has it, if it is a sub-agent, a folder or a test.
	agent *thing

	// raw is what the files say, as they say it, at a place; given is its normal form. Both are nil if they say nothing.
	raw, given object
	at         path
	// node is what the server answered, present its normal form. Both are nil if it has no such thing.
	node, present object

	// subAgents are those of an agent, by their technical names.
	subAgents map[string]*thing
	// documents are those of a dataset that the files name, stored those that the server has.
	documents []document
	stored    []storedDocument
	// isAmbiguous says that only its id tells it from another one.
	isAmbiguous bool
	// headers are the environment variables of a tool's headers, by their names.
	headers object
}

// name returns its name, as the files have it or else the server.
func (t *thing) name() string { return cmp.Or(t.raw.text("name"), t.node.text("name"), t.key) }

// reference returns what files call it by.
func (t *thing) reference() string {
	if t.kind == tool || t.kind == subAgent {
		return cmp.Or(t.raw.text("technicalName"), t.node.text("technicalName"))
	}
	return cmp.Or(t.key, t.name())
}

// String returns what people call it, such as `agent "Front desk"`.
func (t *thing) String() string {
	called := fmt.Sprintf("%s %q", t.kind.name, client.Printable(cmp.Or(t.name(), t.reference())))
	for _, of := range []object{t.given, t.present} {
		if in, _ := of.get("folderId"); in != nil {
			called += fmt.Sprintf(" in folder %q", client.Printable(in.(*thing).name()))
			break
		}
	}
	if t.agent != nil {
		called += fmt.Sprintf(" of agent %q", client.Printable(t.agent.name()))
	}
	return called
}

// changedAt is what a change of it is based on.
func (t *thing) changedAt() string { return cmp.Or(t.node.text("updatedAt"), t.node.text("createdAt")) }

// whole returns all that will be true of it.
func (t *thing) whole() object {
	whole := object{}
	for _, f := range t.kind.members {
		now, _ := t.present.get(f.name)
		if t.present == nil {
			now = f.normal(nil, nil, path{})
		}
		if wanted, isGiven := t.given.get(f.name); isGiven {
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
