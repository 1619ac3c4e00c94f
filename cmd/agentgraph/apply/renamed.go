package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// If the files lack a resource of the server but have a similar new one, the resource was probably renamed. An id in
// the files confirms that.

// similarity is the minimum share of equal text that makes two resources similar. Lines of lists and objects are
// ignored if they are shorter than longLine bytes, because most of those lines contain only the name of a member.
const similarity, longLine = 0.6, 20

// maxRenamedTests is the maximum number of notes about renamed tests of a kind. Many tests are alike. So a note about a
// test requires that its whole content is unchanged, except for the name. With --prune, a similar test is enough,
// because the old test would be deleted.
const maxRenamedTests = 3

// commonMembers lists members that many resources share, such as the name of an agent and the shared settings of its
// tests. Equal values of these members do not make two resources similar.
var commonMembers = []string{
	"name", "technicalName", "toolMocking", "variables", "channel", "direction", "language", "chunkMethod", "color",
	"tagExpected", "defaultRegion",
}

// noteRenames adds a note for each resource that was probably renamed. It refuses a change set that would delete the
// old resource with its history.
func (c *company) noteRenames(o options) {
	for _, k := range kinds {
		var left []*resource
		for _, t := range c.resources[k] {
			if t.raw == nil && c.reported[reportedList{k, t.agent}] {
				left = append(left, t)
			}
		}
		if len(left) == 0 {
			continue
		}
		isTest, noted := k.isTest(), map[*resource]bool{}
		for _, t := range c.resources[k] {
			if t.raw == nil || t.actual != nil {
				continue
			}
			for _, old := range left {
				if old.agent != t.agent || !isSimilar(t, old) {
					continue
				}
				if o.prune && k != campaign {
					c.faults.addFault(t.at, "looks like a renamed %s. To keep its history, add \"id: %s\" here. If it is a new "+
						"object, apply once without --prune", old, old.id)
					continue
				}
				if isTest && (noted[t] || noted[old] || len(noted) >= 2*maxRenamedTests || !isSameButForTheName(t, old)) {
					continue
				}
				noted[t], noted[old] = true, true
				c.notes = append(c.notes, fmt.Sprintf("%s is new, but looks like a renamed %s. If it is that object, add "+
					"\"id: %s\" in the files", t, old, old.id))
			}
		}
	}
}

// isSimilar reports whether a new resource is probably an old one under another name. Either it has the key that pull
// would give to the old one, or most of its content is the same.
func isSimilar(t, old *resource) bool {
	if key := t.raw.text("key"); key != "" && key == keyFrom(old.name(), old.kind) {
		return true
	}
	if isSameButForTheName(t, old) {
		return true
	}
	given, present := memberLines(t, t.desired), memberLines(t, old.actual)
	for _, d := range t.documents {
		given = append(given, d.digest)
	}
	for _, d := range old.stored {
		present = append(present, d.digest)
	}
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
	return same > 0 && float64(same) >= similarity*float64(max(inGiven, inPresent))
}

// isSameButForTheName reports whether the files describe the old resource except for its name, with at least one
// distinctive member.
func isSameButForTheName(t, old *resource) bool {
	for _, d := range differencesOf(&resource{kind: t.kind, desired: t.desired, actual: old.actual}) {
		if d.name != "name" && d.name != "technicalName" && !t.kind.member(d.name).isFixed {
			return false
		}
	}
	for _, d := range t.documents {
		if d.storedAs(old.stored) < 0 {
			return false
		}
	}
	return len(t.documents) > 0 || slices.ContainsFunc(t.desired, t.isDistinctive)
}

// isDistinctive reports whether a member is distinctive, so that equal values suggest the same resource.
func (t *resource) isDistinctive(m member) bool {
	f := t.kind.member(m.name)
	isCommon := f.isFixed || slices.Contains(commonMembers, m.name) || m.value == nil
	return !isCommon && !isEqual(m.value, f.normalize(nil, nil, path{}))
}

// memberLines returns the distinctive members that the files give for an object, as lines.
func memberLines(t *resource, from object) (lines []string) {
	for _, given := range t.desired {
		value, _ := from.get(given.name)
		if !t.isDistinctive(member{given.name, value}) {
			continue
		}
		text, isText := value.(string)
		shortest := 1
		if !isText {
			shortest = longLine
			file := object{{given.name, t.kind.member(given.name).fileValue(value)}}
			written, err := yaml.MarshalWithOptions(toYAML(file), yamlOptions...)
			if err != nil {
				continue
			}
			text = string(written)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= shortest {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// noteNames adds notes about ids that the server does not know, such as another company's, and about shared names.
func (c *company) noteNames() {
	found, created := 0, 0
	for _, k := range kinds {
		for _, t := range c.resources[k] {
			switch id := t.raw.text("id"); {
			case id == "" || id == t.id:
			case t.actual != nil:
				found++
			default:
				created++
			}
		}
	}
	if found+created > 0 {
		c.notes = append(c.notes, fmt.Sprintf("this server does not know %d ids in the files: it has %d of these "+
			"objects by name, and %d are new", found+created, found, created))
	}
	if c.paired > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d objects have the same name as others, so they were matched with the "+
			"server's objects by position", c.paired))
	}
}
