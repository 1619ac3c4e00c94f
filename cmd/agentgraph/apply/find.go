package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// nameKey identifies a resource by its name, for lookups without an id. Names are unique within an agent, and names of
// tests within a folder.
type nameKey struct {
	agent, folder *resource
	name          string
}

// claim is a resource of a file that is looked up by its name.
type claim struct {
	declaration
	resource *resource
	nameKey
}

// match matches each wanted resource of a kind to one on the server, or to a new one. Ids are matched first, because
// another resource may have the same name now.
func (c *company) match(k *kind, all []declaration) {
	var claims []claim
	wanting := map[nameKey]int{}
	for _, w := range all {
		if w.kind == k && c.isKnownID(w) {
			c.matchByID(w)
		}
	}
	for _, w := range all {
		// The server does not know this id, because another server may have created it. The name decides.
		if w.kind != k || c.isKnownID(w) {
			continue
		}
		t := &resource{kind: k, raw: w.raw}
		if w.agent != "" {
			if t.agent = c.lookup(agent, w.agent, nil, w.at); t.agent == nil {
				continue
			}
		}
		at := nameKey{t.agent, c.folderOf(t, w.at), t.nameToFind(w.raw)}
		claims = append(claims, claim{w, t, at})
		wanting[at]++
	}
	c.matchByName(k, claims, wanting)
}

// matchByName pairs resources of the files with resources of the server that have the same name, in order. Resources
// without a counterpart are new. It is an error if the server has more resources with a name than the files.
func (c *company) matchByName(k *kind, claims []claim, wanting map[nameKey]int) {
	onServer := map[nameKey][]*resource{}
	for _, t := range c.resources[k] {
		if t.raw == nil {
			at := c.currentNameKey(t)
			onServer[at] = append(onServer[at], t)
		}
	}
	for _, same := range onServer {
		// Ids ascend in the order of creation.
		slices.SortFunc(same, func(a, b *resource) int { return strings.Compare(a.id, b.id) })
	}
	taken := map[nameKey]int{}
	for _, w := range claims {
		same, n := onServer[w.nameKey], taken[w.nameKey]
		taken[w.nameKey]++
		switch {
		case len(same) > wanting[w.nameKey]:
			c.faults.addFault(w.at,
				"the server has %d objects with the name %q, with the ids %s: add the right id to the file, "+
					"or rename or delete the others", len(same), w.raw.text("name"), idsOf(same))
		case n < len(same):
			if wanting[w.nameKey] > 1 {
				c.paired++
			}
			c.assign(same[n], w.declaration)
		default:
			c.resources[k] = append(c.resources[k], w.resource)
			c.assign(w.resource, w.declaration)
		}
	}
}

// nameToFind returns the name by which a resource is looked up.
func (t *resource) nameToFind(described object) string {
	switch t.kind {
	case tool:
		return described.text("technicalName")
	case folder:
		return strings.ToLower(norm.NFC.String(described.text("name")))
	}
	return norm.NFC.String(described.text("name"))
}

// matchByID matches a wanted resource to the one on the server that has its id.
func (c *company) matchByID(w declaration) {
	known := c.byID[w.raw.text("id")]
	if known.kind != w.kind {
		c.faults.addFault(w.at.member("id"), "is the id of a %s, not of a %s: correct or remove it", known.kind.name,
			w.kind.name)
		return
	}
	if w.agent != "" && c.lookup(agent, w.agent, nil, w.at) == nil {
		return
	}
	c.assign(known, w)
}

func (c *company) isKnownID(w declaration) bool { return c.byID[w.raw.text("id")] != nil }

func idsOf(resources []*resource) string {
	ids := make([]string, len(resources))
	for i, t := range resources {
		ids[i] = t.id
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// assign assigns the resource w of the files to t.
func (c *company) assign(t *resource, w declaration) {
	if t.raw != nil && t.at.source != nil {
		c.faults.addFault(w.at, "is the same %s as the one at %s: remove one of them", w.kind.name, t.at)
		return
	}
	t.raw, t.at = w.raw, w.at
	t.key = cmp.Or(w.raw.text("key"), w.raw.text("name"))
}

// folderOf returns the folder that a test belongs to in the files, or nil.
func (c *company) folderOf(t *resource, at path) *resource {
	key := t.raw.text("folderId")
	if key == "" || t.kind != simulation && t.kind != classification {
		return nil
	}
	return c.lookup(folder, key, t.agent, at.member("folderId"))
}

func (c *company) folderOfNode(t *resource) *resource { return c.byID[t.node.text("folderId")] }

// checkUniqueKeys refuses two resources of the files with the same key.
func (c *company) checkUniqueKeys(k *kind) {
	type called struct {
		agent *resource
		key   string
	}
	seen := map[called]*resource{}
	if k.isTest() {
		return // Nothing refers to tests by key.
	}
	for _, t := range c.resources[k] {
		// Nothing refers to campaigns by key either. But unless they have ids, two campaigns with the same name are a
		// mistake.
		if t.at.source == nil || k == campaign && t.raw.text("id") != "" {
			continue
		}
		as := called{t.agent, t.reference()}
		if other := seen[as]; other != nil {
			c.faults.addFault(t.at, "has the key %q, which the %s at %s already has", as.key, k.name, other.at)
		}
		seen[as] = t
	}
}

// currentNameKey returns the nameKey of a resource on the server.
func (c *company) currentNameKey(t *resource) nameKey {
	return nameKey{t.agent, c.folderOfNode(t), t.nameToFind(t.node)}
}

// nextNameKey returns the nameKey of a resource after the change set is applied.
func (c *company) nextNameKey(t *resource) nameKey {
	at := nameKey{t.agent, nil, cmp.Or(t.nameToFind(t.raw), t.nameToFind(t.node))}
	in, isGiven := t.desired.get("folderId")
	if !isGiven {
		in, _ = t.actual.get("folderId")
	}
	at.folder, _ = in.(*resource)
	return at
}

// uniquely lists the kinds whose names are unique on the server. Both kinds of tests share one set of names.
var uniquely = [][]*kind{{mcpServer}, {tool}, {folder}, {simulation, classification}}

// checkUniqueNames refuses duplicate names, because the server would refuse them halfway through the change set. Only
// tests may share a name, because REST can create such tests. Their ids in the files show that the name is not a
// mistake.
func (c *company) checkUniqueNames(changes []*change, o options) {
	for _, together := range uniquely {
		at, holders := map[nameKey][]*resource{}, map[nameKey][]*resource{}
		for _, k := range together {
			for _, t := range c.resources[k] {
				at[c.nextNameKey(t)] = append(at[c.nextNameKey(t)], t)
				if t.actual != nil {
					holders[c.currentNameKey(t)] = append(holders[c.currentNameKey(t)], t)
				}
			}
		}
		for _, ch := range changes {
			t := ch.resource
			if !slices.Contains(together, t.kind) || ch.verb == "change" && c.nextNameKey(t) == c.currentNameKey(t) {
				continue
			}
			isTest := t.kind.isTest()
			others := slices.DeleteFunc(slices.Clone(at[c.nextNameKey(t)]), func(other *resource) bool { return other == t })
			if len(others) == 0 {
				c.refuseHeldNames(ch, holders[c.nextNameKey(t)], isTest)
				now := c.currentNameKey(t)
				holders[now] = slices.DeleteFunc(holders[now], func(other *resource) bool { return other == t })
				continue
			}
			stays := slices.IndexFunc(others, func(other *resource) bool { return !o.prune || !c.isPruned(other) })
			ch.mayRepeat = isTest && ch.verb == "create" && (stays < 0 || t.raw.text("id") != "")
			if other := others[max(0, stays)]; !ch.mayRepeat {
				c.faults.addFault(t.at, "has the same name as the %s %s; give it another one", other.kind.name, other.location())
			}
		}
	}
}

// refuseHeldNames refuses a name that another resource still has when the change is applied, because that resource is
// renamed later.
func (c *company) refuseHeldNames(ch *change, holders []*resource, isTest bool) {
	switch {
	case len(holders) == 0:
	case isTest && ch.verb == "create":
		ch.mayRepeat = true
	default:
		c.faults.addFault(ch.resource.at, "has a name that still belongs to the %s with the id %s on the server: first "+
			"apply the files that rename that %[1]s", holders[0].kind.name, holders[0].id)
	}
}

func (t *resource) location() string {
	if t.at.source != nil {
		return "at " + t.at.String()
	}
	return fmt.Sprintf("with the id %s, which only the server has", t.id)
}
