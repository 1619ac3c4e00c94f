package apply

import (
	"cmp"
	"slices"
	"strings"
)

// company is what the files describe and what the server has, brought together.
type company struct {
	things map[*kind][]*thing
	byID   map[string]*thing
	// told are the kinds of which the files have a list, and toldTests the agents of which they have tests.
	told      map[*kind]bool
	toldTests map[*thing]bool
	wrong     faults
	// notes are what people should know of the plan, or of the files that are written.
	notes []string
}

func newCompany() *company {
	return &company{things: map[*kind][]*thing{}, byID: map[string]*thing{}, told: map[*kind]bool{}, toldTests: map[*thing]bool{}}
}

// wanted is something in a file.
type wanted struct {
	kind  *kind
	raw   object
	at    path
	agent string // the key of its agent, if it has one
}

// wantedOf returns what a file describes.
func (c *company) wantedOf(s *source) (all []wanted) {
	root := path{in: s}
	for _, k := range []*kind{dataset, knowledgeBaseChat, tool, agent, campaign} {
		value, isTold := s.content.get(k.list)
		c.told[k] = c.told[k] || isTold
		l, _ := value.(list)
		for i, raw := range l {
			all = append(all, wanted{kind: k, raw: raw.(object), at: root.member(k.list).index(i)})
		}
	}
	for i, raw := range s.content.list("agentTests") {
		for _, w := range testsOf(raw.(object), root.member("agentTests").index(i)) {
			all = append(all, c.withRows(w))
		}
	}
	return all
}

// testsOf returns an agent's folders and tests, which have what all of them begin with.
func testsOf(group object, at path) []wanted {
	of := group.text("agent")
	all := []wanted{{kind: subAgent, at: at.member("agent"), agent: of}}
	for _, k := range []*kind{folder, simulation, classification} {
		for i, one := range group.list(k.list) {
			raw := one.(object)
			if k == simulation {
				raw = withDefaults(raw, group)
			}
			all = append(all, wanted{k, raw.with("agentId", of), at.member(k.list).index(i), of})
		}
	}
	return all
}

func withDefaults(raw, group object) object {
	if shared, ok := group.get("variables"); ok && shared != nil {
		together := slices.Clone(shared.(object))
		own, _ := raw.get("variables")
		values, _ := own.(object)
		for _, m := range values {
			together = together.with(m.name, m.value)
		}
		raw = raw.with("variables", together)
	}
	mocks, isTold := group.get("toolMocking")
	if _, isOwn := raw.get("toolMocking"); isTold && !isOwn {
		raw = raw.with("toolMocking", mocks)
	}
	return raw
}

// describe brings what the files describe together with what the server has.
func (c *company) describe(sources []*source) error {
	var all []wanted
	for _, s := range sources {
		all = append(all, c.wantedOf(s)...)
	}
	for _, k := range kinds {
		// What ids name is found first, as it may have the name of something else now.
		for _, isByID := range []bool{true, false} {
			for _, w := range all {
				if w.kind == k && c.knows(w) == isByID {
					c.find(w)
				}
			}
		}
		c.distinct(k)
	}
	c.noteForeignIDs()
	for _, w := range all {
		if w.kind == subAgent {
			if of := c.named(agent, w.agent, nil, w.at); of != nil {
				c.toldTests[of] = true
			}
		}
	}
	if err := c.wrong.err(); err != nil {
		return err
	}
	for _, k := range kinds {
		for _, t := range c.things[k] {
			if t.raw != nil {
				c.normalize(t)
			}
		}
	}
	return c.wrong.err()
}

// knows reports whether the server has the id that the files give.
func (c *company) knows(w wanted) bool { return c.byID[w.raw.text("id")] != nil }

// find gives what is wanted to the thing that the server has, or to a new one.
func (c *company) find(w wanted) {
	t := &thing{kind: w.kind}
	var of *thing
	if w.agent != "" {
		if of = c.named(agent, w.agent, nil, w.at); of == nil {
			return
		}
	}
	t.agent, t.raw = of, w.raw
	// An id of another server says nothing here, so the name counts.
	if known := c.byID[w.raw.text("id")]; known != nil {
		if known.kind != w.kind {
			c.wrong.add(w.at.member("id"), "is the id of a %s", known.kind.name)
			return
		}
		c.take(known, w)
		return
	}
	inFolder := c.folderOf(t, w.at)
	var same []*thing
	for _, known := range c.things[w.kind] {
		if known.isRenamed() {
			continue
		}
		if known.present != nil && known.agent == of && known.isNamedAs(t) && (w.kind != simulation && w.kind != classification || c.folderOfNode(known) == inFolder) {
			same = append(same, known)
		}
	}
	switch len(same) {
	case 0:
		c.things[w.kind] = append(c.things[w.kind], t)
		c.take(t, w)
	case 1:
		c.take(same[0], w)
	default:
		c.wrong.add(w.at, "the server has %d of the name %q, with the ids %s: say by id which is meant", len(same), w.raw.text("name"), idsOf(same))
	}
}

func idsOf(things []*thing) string {
	ids := make([]string, len(things))
	for i, t := range things {
		ids[i] = t.id
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// take makes a thing the one that is wanted.
func (c *company) take(t *thing, w wanted) {
	if t.raw != nil && t.at.in != nil {
		c.wrong.add(w.at, "is the same %s as at %s", w.kind.name, t.at)
		return
	}
	t.raw, t.at = w.raw, w.at
	t.key = cmp.Or(w.raw.text("key"), w.raw.text("name"))
}

// isRenamed reports whether the files give a thing of the server, which they name by its id, another name.
func (t *thing) isRenamed() bool {
	return t.present != nil && t.raw != nil && t.raw.text("id") == t.id && !t.isNamedAs(t)
}

// isNamedAs reports whether a thing of the server has the name that another one wants.
func (t *thing) isNamedAs(want *thing) bool {
	switch t.kind {
	case tool:
		return t.node.text("technicalName") == want.raw.text("technicalName")
	case folder:
		return strings.EqualFold(t.node.text("name"), want.raw.text("name"))
	}
	return t.node.text("name") == want.raw.text("name")
}

// folderOf returns the folder that a test is wanted in, nil for none.
func (c *company) folderOf(t *thing, at path) *thing {
	key := t.raw.text("folderId")
	if key == "" || t.kind != simulation && t.kind != classification {
		return nil
	}
	return c.named(folder, key, t.agent, at.member("folderId"))
}

func (c *company) folderOfNode(t *thing) *thing { return c.byID[t.node.text("folderId")] }

// distinct refuses two things of the files with one key.
func (c *company) distinct(k *kind) {
	type called struct {
		agent *thing
		key   string
	}
	seen := map[called]*thing{}
	if k == simulation || k == classification {
		return // Nothing calls them by a key.
	}
	for _, t := range c.things[k] {
		if t.at.in == nil {
			continue
		}
		as := called{t.agent, t.reference()}
		if other := seen[as]; other != nil {
			c.wrong.add(t.at, "has the key %q of the %s at %s", as.key, k.name, other.at)
		}
		seen[as] = t
	}
}

// named returns the thing that the files call by a key, or that the server has by that name. Without one the place is at
// fault.
func (c *company) named(k *kind, key string, of *thing, at path) *thing {
	var onServer []*thing
	for _, t := range c.things[k] {
		if t.agent != of && k == folder {
			continue
		}
		if t.at.in != nil && t.reference() == key {
			return t
		}
		if t.at.in == nil && (t.name() == key && k != tool || t.reference() == key || t.id == key) {
			onServer = append(onServer, t)
		}
	}
	if len(onServer) == 1 {
		return onServer[0]
	}
	if len(onServer) > 1 {
		c.wrong.add(at, "the server has %d %ss with the name %q, with the ids %s", len(onServer), k.name, key, idsOf(onServer))
		return nil
	}
	c.wrong.add(at, "there is no %s with the key or name %q, neither in the files nor on the server", k.name, key)
	return nil
}

// normalize brings what the files say of a thing into the form in which it can be compared.
func (c *company) normalize(t *thing) {
	raw := t.raw
	switch t.kind {
	case tool:
		raw = t.withHeaderNames(raw)
	case dataset:
		t.documents = documentsIn(t, &c.wrong)
	}
	t.given = t.kind.shape().normal(raw, c.resolveFor(t), t.at).(object)
	if t.kind == agent {
		c.addSubAgents(t)
	}
}

// resolveFor returns the function that finds what a thing of the files names.
func (c *company) resolveFor(t *thing) resolve {
	return func(to *kind, key string, at path) any {
		var found *thing
		switch to {
		case subAgent:
			if found = t.agent.subAgents[key]; found == nil {
				c.wrong.add(at, "agent %q has no sub-agent with the technical name %q", t.agent.name(), key)
			}
		case folder:
			found = c.named(folder, key, t.agent, at)
		default:
			found = c.named(to, key, nil, at)
		}
		if found == nil {
			return nil
		}
		return found
	}
}

// addSubAgents adds the sub-agents that an agent is to have, and forgets those that it is not to have any more.
func (c *company) addSubAgents(t *thing) {
	value, isGiven := t.given.get("subAgents")
	if !isGiven {
		return
	}
	before := t.subAgents
	t.subAgents = map[string]*thing{}
	for _, one := range value.(list) {
		name := one.(object).text("technicalName")
		if t.subAgents[name] != nil {
			c.wrong.add(t.at.member("subAgents"), "has two with the technical name %q", name)
		}
		if t.subAgents[name] = before[name]; before[name] == nil {
			t.subAgents[name] = &thing{kind: subAgent, agent: t, raw: one.(object)}
		}
	}
}

// withHeaderNames returns what the files say of a tool with the names of its headers in place of their values. Without
// any, those that the server has stay.
func (t *thing) withHeaderNames(raw object) object {
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
	} else if now, _ := t.present.get("endpoint"); now != nil {
		names = now.(object).list("headerNames")
	}
	return raw.with("endpoint", endpoint.without("headers").with("headerNames", names))
}
