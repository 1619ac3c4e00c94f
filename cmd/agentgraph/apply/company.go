package apply

import "slices"

// company is what the files describe and what the server has, brought together.
type company struct {
	things map[*kind][]*thing
	byID   map[string]*thing
	// told are the kinds of which the files have a list, and toldTests the agents of which they have tests.
	reported      map[*kind]bool
	reportedTests map[*thing]bool
	wrong         faults
	// paired counts the things of the files that share their name with others, and were found by their order.
	paired int
	// notes are what people should know of the change set, or of the files that are written.
	notes []string
}

func newCompany() *company {
	return &company{things: map[*kind][]*thing{}, byID: map[string]*thing{}, reported: map[*kind]bool{},
		reportedTests: map[*thing]bool{}}
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
		c.reported[k] = c.reported[k] || isTold
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
		for _, m := range raw.object("variables") {
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
		c.find(k, all)
		c.distinct(k)
	}
	c.noteNames()
	for _, w := range all {
		if w.kind == subAgent {
			if of := c.named(agent, w.agent, nil, w.at); of != nil {
				c.reportedTests[of] = true
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

// named returns the thing that the files call by a key, or that the server has by that name. Without one the place is
// at fault.
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
		c.wrong.add(at, "the server has %d %ss with the name %q, with the ids %s", len(onServer), k.name, key,
			idsOf(onServer))
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

// withHeaderNames returns a tool of the files with the names of its headers instead of their values. Without
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
	} else if now := t.present.object("endpoint"); now != nil {
		names = now.list("headerNames")
	}
	return raw.with("endpoint", endpoint.without("headers").with("headerNames", names))
}
