package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// A thing that the files do not have any more, beside a new one that is much like it, was probably renamed. Files say so by its id.

// likeness is the share of the text from which on two things are alike. Lines that are shorter than longLine say nothing: most
// agents have a channel and a language in common.
const likeness, longLine = 0.6, 20

// renamed notes what looks like a renamed thing. When the old one would be deleted, with all of its history, that is refused.
func (c *company) renamed(o options) {
	for _, k := range kinds {
		var left []*thing
		for _, t := range c.things[k] {
			if t.raw == nil && (t.agent == nil && c.told[k] || t.agent != nil && c.toldTests[t.agent]) {
				left = append(left, t)
			}
		}
		if len(left) == 0 {
			continue
		}
		for _, t := range c.things[k] {
			if t.raw == nil || t.present != nil {
				continue
			}
			for _, old := range left {
				if old.agent != t.agent || !isLike(t, old) {
					continue
				}
				if o.prune && k != campaign {
					c.wrong.add(t.at, "looks like %s, renamed: write id: %s here, so that its history is kept, or apply once without --prune", old, old.id)
					continue
				}
				c.notes = append(c.notes, fmt.Sprintf("%s is new, and looks like %s: if that was renamed, write id: %s into the files", t, old, old.id))
			}
		}
	}
}

// isLike reports whether what the files say of a new thing is mostly what the server has of an old one, but for the name.
func isLike(t, old *thing) bool {
	given, present := memberLines(t, t.given), memberLines(t, old.present)
	counts := map[string]int{}
	var inGiven, inPresent, same int
	for _, line := range present {
		counts[line]++
		inPresent += len(line)
	}
	for _, line := range given {
		inGiven += len(line)
		if counts[line] > 0 {
			counts[line]--
			same += len(line)
		}
	}
	return same > 0 && float64(same) >= likeness*float64(max(inGiven, inPresent))
}

// memberLines returns the members of an object that the files give, as lines. Names, the agent, and what its tests have in common say
// nothing.
func memberLines(t *thing, from object) (lines []string) {
	for _, given := range t.given {
		f := t.kind.member(given.name)
		value, _ := from.get(given.name)
		if f.isFixed || slices.Contains([]string{"name", "technicalName", "toolMocking", "variables"}, given.name) || value == nil || isEqual(value, f.normal(nil, nil, path{})) {
			continue
		}
		text, err := yaml.MarshalWithOptions(toYAML(object{{given.name, f.written(value)}}), yamlOptions...)
		if err == nil {
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); len(line) >= longLine {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// noteNames says what became of ids that the server does not have, as those of another company, and of names that several have.
func (c *company) noteNames() {
	found, created := 0, 0
	for _, k := range kinds {
		for _, t := range c.things[k] {
			switch id := t.raw.text("id"); {
			case id == "" || id == t.id:
			case t.present != nil:
				found++
			default:
				created++
			}
		}
	}
	if found+created > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d ids in the files are unknown to this server: %d of these things were found by name, and %d are new",
			found+created, found, created))
	}
	if c.paired > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d things share their name with others: those of the files were paired with those of the server in their order",
			c.paired))
	}
}
