package apply

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// company has the resources in the files and on the server, matched to each other.
type company struct {
	resources map[*kind][]*resource
	byID      map[string]*resource
	// deleted has the tools and sub-agents with isDeleted, by id. Files refer to them by id.
	deleted map[string]*resource
	// reported has the lists that are in the files, even if they are empty.
	reported map[reportedList]bool
	// hasWholeAgents is set if the files have all tests and folders of the agents that they name.
	hasWholeAgents bool
	faults         faults
	// paired counts the resources of the files that share a name and were matched by their order.
	paired int
	// notes are printed for the user. They are about the change set, or about the written files.
	notes []string
}

func newCompany() *company {
	return &company{resources: map[*kind][]*resource{}, byID: map[string]*resource{}, deleted: map[string]*resource{},
		reported: map[reportedList]bool{}}
}

// reportedList is a list in the files. A list of folders or tests belongs to an agent.
type reportedList struct {
	kind  *kind
	agent *resource
}

// declaration is a resource that a file describes.
type declaration struct {
	kind  *kind
	raw   object
	at    path
	agent string // the key of its agent, if it has one
	// lists has the kinds whose lists a group of tests has, even if they are empty.
	lists []*kind
}

// declarationsIn returns the resources that a file describes.
func (c *company) declarationsIn(s *source) (all []declaration) {
	root := path{source: s}
	for _, k := range []*kind{dataset, knowledgeBaseChat, mcpServer, tool, agent, campaign} {
		value, isTold := s.content.get(k.list)
		if isTold {
			c.reported[reportedList{kind: k}] = true
		}
		l, _ := value.(list)
		for i, raw := range l {
			all = append(all, declaration{kind: k, raw: raw.(object), at: root.member(k.list).index(i)})
		}
	}
	for i, raw := range s.content.list("agentTests") {
		for _, w := range testDeclarations(raw.(object), root.member("agentTests").index(i)) {
			all = append(all, c.withRows(w))
		}
	}
	return all
}

// testDeclarations returns the folders and tests of an agent, with the defaults of their group.
func testDeclarations(group object, at path) []declaration {
	agentName := group.text("agent")
	all := []declaration{{kind: subAgent, at: at.member("agent"), agent: agentName}}
	for _, k := range []*kind{folder, simulation, classification} {
		if _, isTold := group.get(k.list); isTold {
			all[0].lists = append(all[0].lists, k)
		}
		for i, one := range group.list(k.list) {
			raw, place := one.(object), at.member(k.list).index(i)
			if k == simulation {
				raw, place.shared = withDefaults(raw, group)
			}
			all = append(all, declaration{kind: k, raw: raw.with("agentId", agentName), at: place, agent: agentName})
		}
	}
	return all
}

// withDefaults returns a test with the values that its group shares, and the member that only the group has, or "".
func withDefaults(raw, group object) (test object, shared string) {
	if shared, ok := group.get("variables"); ok && shared != nil {
		together := slices.Clone(shared.(object))
		for _, m := range raw.object("variables") {
			together = together.with(m.name, m.value)
		}
		raw = raw.with("variables", together)
	}
	mocks, isTold := group.get("toolMocking")
	if _, isOwn := raw.get("toolMocking"); isTold && !isOwn {
		return raw.with("toolMocking", mocks), "toolMocking"
	}
	return raw, ""
}

// describe matches the resources of the files to those of the server.
func (c *company) describe(sources []*source) error {
	var all []declaration
	for _, s := range sources {
		all = append(all, c.declarationsIn(s)...)
	}
	for _, k := range kinds {
		c.match(k, all)
		c.checkUniqueKeys(k)
	}
	c.noteNames()
	for _, w := range all {
		if w.kind != subAgent {
			continue
		}
		if c.hasWholeAgents {
			w.lists = []*kind{folder, simulation, classification}
		}
		if tested := c.lookup(agent, w.agent, nil, w.at); tested != nil {
			for _, k := range w.lists {
				c.reported[reportedList{k, tested}] = true
			}
		}
	}
	if err := c.faults.err(); err != nil {
		return err
	}
	for _, k := range kinds {
		for _, t := range c.resources[k] {
			if t.raw != nil {
				c.normalize(t)
			}
		}
	}
	return c.faults.err()
}

// lookup returns the resource with the key in the files, or with the key, name or id on the server. Tools are not found
// by their names. If there is not exactly one, it returns nil and records an error at the place.
func (c *company) lookup(k *kind, key string, owner *resource, at path) *resource {
	var onServer []*resource
	isSame := func(name string) bool { return norm.NFC.String(name) == norm.NFC.String(key) }
	for _, t := range c.resources[k] {
		if t.agent != owner && k == folder {
			continue
		}
		if t.at.source != nil && isSame(t.reference()) {
			return t
		}
		if t.at.source == nil && (isSame(t.name()) && k != tool || isSame(t.reference()) || t.id == key) {
			onServer = append(onServer, t)
		}
	}
	if len(onServer) == 1 {
		return onServer[0]
	}
	if len(onServer) > 1 {
		c.faults.addFault(at, "the server has %d %ss with the name %q: use one of the ids %s instead",
			len(onServer), k.name, key, idsOf(onServer))
		return nil
	}
	c.faults.addFault(at, "no %s has the key or name %q in the files or on the server", k.name, key)
	return nil
}

// normalize sets the normal form of a resource in the files. Normal forms can be compared.
func (c *company) normalize(t *resource) {
	raw := t.raw
	switch t.kind {
	case tool, mcpServer:
		raw = t.withHeaderNames(raw)
	case dataset:
		t.documents = documentsIn(t, &c.faults)
	}
	t.desired = t.kind.shape().normalize(raw, c.resolveFor(t), t.at).(object)
	if t.kind == agent {
		c.addSubAgents(t)
	}
}

// resolveFor returns the function that resolves the references of a resource.
func (c *company) resolveFor(t *resource) resolve {
	return func(to *kind, key string, at path) any {
		if gone := c.deleted[key]; gone != nil && t.kind == simulation {
			return gone
		}
		var found *resource
		switch to {
		case subAgent:
			if found = t.agent.subAgents[key]; found == nil {
				c.faults.addFault(at, "agent %q has no sub-agent with the technical name %q", t.agent.name(), key)
			}
		case folder:
			found = c.lookup(folder, key, t.agent, at)
		default:
			found = c.lookup(to, key, nil, at)
		}
		if found == nil {
			return nil
		}
		return found
	}
}

// addSubAgents sets the agent's sub-agents to those in the files, and drops all others.
func (c *company) addSubAgents(t *resource) {
	value, isGiven := t.desired.get("subAgents")
	if !isGiven {
		return
	}
	before := t.subAgents
	t.subAgents = map[string]*resource{}
	for _, one := range value.(list) {
		name := one.(object).text("technicalName")
		if t.subAgents[name] != nil {
			c.faults.addFault(t.at.member("subAgents"), "has two entries with the technical name %q", name)
		}
		if t.subAgents[name] = before[name]; before[name] == nil {
			t.subAgents[name] = &resource{kind: subAgent, agent: t, raw: one.(object)}
		}
	}
}

// withHeaderNames replaces the values of a tool's headers by their names. If the files give no headers, the server's
// are kept.
func (t *resource) withHeaderNames(raw object) object {
	value, _ := raw.get("endpoint")
	endpoint, ok := value.(object)
	if !ok {
		return raw
	}
	names := list{}
	if headers, isGiven := endpoint.get("headers"); isGiven {
		t.headers = headers.(object)
		for _, h := range t.headers {
			names = append(names, h.name)
		}
	} else if now := t.actual.object("endpoint"); now != nil {
		names = now.list("headerNames")
	}
	return raw.with("endpoint", endpoint.without("headers").with("headerNames", names))
}

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

func (t *resource) changedAt() string {
	return cmp.Or(t.node.text("updatedAt"), t.node.text("createdAt"))
}

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
