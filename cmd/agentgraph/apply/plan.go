package apply

import (
	"context"
	"net/url"
	"slices"
)

// difference is a member that changes. old and desired are normal forms.
type difference struct {
	name         string
	shape        shape
	old, desired any
}

// change is the change of one resource.
type change struct {
	// verb is create, change or delete.
	verb     string
	resource *resource
	// The members in inline are sent with the resource itself. The members in separate have separate requests.
	inline, separate []difference
	// headers is set if the values of a tool's headers are sent.
	headers bool
	// mayRepeat is set if a new test may have the name of another one.
	mayRepeat bool
	// addedDocuments lists the new documents of a dataset, and deletedDocuments the deleted ones.
	addedDocuments   []document
	deletedDocuments []storedDocument
	// isDone is set once the change was applied, at least in part.
	isDone bool
}

// step is one or more requests of a change.
type step struct {
	change *change
	do     func(ctx context.Context, w *writer) error
}

// changeSet has all changes in the order shown to the user, and all steps in the order of execution.
type changeSet struct {
	changes []*change
	steps   []step
	// notes are printed for the user.
	notes []string
	// warnings say why tests that were applied cannot run as described.
	warnings []string
}

// options modify how differences are computed.
type options struct {
	// prune deletes resources that the files do not name, if the files contain the list that would name them.
	prune bool
	// sendHeaders sends the values of headers even if their names are unchanged.
	sendHeaders bool
	// onlyShow is set if nothing is written, so that secrets are not needed.
	onlyShow bool
}

// changes compares the files with the server. The error lists everything that is impossible.
func (c *company) changes(o options) (*changeSet, error) {
	p := &changeSet{}
	var connections, deletions []step
	for _, k := range kinds {
		for _, t := range c.resources[k] {
			if t.raw == nil {
				continue
			}
			ch := c.changeOf(t, o)
			if ch == nil {
				continue
			}
			p.changes = append(p.changes, ch)
			if ch.verb == "create" || len(ch.inline) > 0 || ch.headers {
				p.steps = append(p.steps, step{ch, ch.write})
			}
			if len(ch.addedDocuments)+len(ch.deletedDocuments) > 0 {
				p.steps = append(p.steps, step{ch, ch.writeDocuments})
			}
			if len(ch.separate) > 0 {
				connections = append(connections, step{ch, ch.connect})
			}
		}
		if k == agent || k == campaign {
			p.steps, connections = append(p.steps, connections...), nil
		}
	}
	c.checkUniqueNames(p.changes, o)
	if o.prune {
		for _, k := range slices.Backward(kinds) {
			for _, t := range c.resources[k] {
				if c.isPruned(t) {
					ch := &change{verb: "delete", resource: t}
					p.changes, deletions = append(p.changes, ch), append(deletions, step{ch, ch.delete})
				}
			}
		}
	}
	p.steps = append(p.steps, deletions...)
	c.noteRenames(o)
	p.notes = c.notes
	return p, c.faults.err()
}

// isPruned reports whether a resource is deleted because the files do not name it.
func (c *company) isPruned(t *resource) bool {
	switch {
	case t.raw != nil || t.kind == campaign:
		return false
	case t.agent != nil && c.isPruned(t.agent): // tests are deleted with their agent
		return false
	}
	return c.reported[reportedList{t.kind, t.agent}]
}

// changeOf returns how a resource changes, or nil if it does not.
func (c *company) changeOf(t *resource, o options) *change {
	ch := &change{verb: "change", resource: t}
	if t.actual == nil {
		ch.verb = "create"
	}
	for _, d := range differencesOf(t) {
		switch f := t.kind.member(d.name); {
		case f.isFixed && ch.verb == "change":
			c.faults.addFault(t.at, "this %s belongs to another agent, and cannot be moved to agent %q: create a new one "+
				"there", t.kind.name, nameOf(d.desired))
		case f.isSeparate:
			ch.separate = append(ch.separate, d)
		default:
			ch.inline = append(ch.inline, d)
		}
	}
	ch.headers = t.headers != nil && (o.sendHeaders || headersDiffer(ch.inline))
	ch.compareDocuments(o.prune)
	if t.kind == campaign && ch.verb == "change" {
		c.checkCampaignFields(ch)
	}
	if ch.verb == "change" && !ch.headers &&
		len(ch.inline)+len(ch.separate)+len(ch.addedDocuments)+len(ch.deletedDocuments) == 0 {
		return nil
	}
	c.check(ch)
	c.checkHeaders(t, ch.headers && !o.onlyShow)
	return ch
}

// differencesOf returns the members in the files that differ from the server. For a new resource, it returns every
// member with a value.
func differencesOf(t *resource) (all []difference) {
	for _, given := range t.desired {
		f := t.kind.member(given.name)
		old, _ := t.actual.get(given.name)
		parts, ok := given.value.(object)
		if f.form != merged || !ok {
			if t.actual == nil && given.value != nil || !isEqual(old, given.value) {
				all = append(all, difference{given.name, f.shape, old, given.value})
			}
			continue
		}
		before, _ := old.(object)
		for _, part := range parts {
			was, _ := before.get(part.name)
			if t.actual == nil || !isEqual(was, part.value) {
				all = append(all, difference{given.name + "." + part.name, f.shape.member(part.name).shape, was, part.value})
			}
		}
	}
	return all
}

func headersDiffer(own []difference) bool {
	for _, d := range own {
		if d.name == "endpoint" {
			old, _ := d.old.(object)
			now, _ := d.desired.(object)
			return !isEqual(old.list("headerNames"), now.list("headerNames")) || originOf(old) != originOf(now)
		}
	}
	return false
}

// originOf returns the origin that an endpoint's headers are sent to. A new origin needs the values again.
func originOf(endpoint object) string {
	address, err := url.Parse(endpoint.text("url"))
	if err != nil {
		return ""
	}
	return address.Scheme + "://" + address.Host
}

// checkCampaignFields refuses changes of a campaign's existing fields. If no field is new, it drops the difference,
// because fields that are missing from the files stay on the server.
func (c *company) checkCampaignFields(ch *change) {
	ch.separate = slices.DeleteFunc(ch.separate, func(d difference) bool {
		old, _ := d.old.(list)
		isNew := false
		for i, one := range d.desired.(list) {
			name := one.(object).text("name")
			known := slices.IndexFunc(old, func(o any) bool { return o.(object).text("name") == name })
			if known < 0 {
				isNew = true
			} else if !isEqual(old[known], one) {
				c.faults.addFault(ch.resource.at.member("fields").index(i), "the field %q of a campaign cannot be changed", name)
			}
		}
		return !isNew
	})
}
