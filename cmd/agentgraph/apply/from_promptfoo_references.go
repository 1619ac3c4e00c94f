package apply

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// load reads a YAML or JSON file, with each $ref resolved.
func (p *promptfoo) load(name string) (any, position, error) {
	text, err := p.readFile(name)
	if err != nil {
		return nil, position{}, err
	}
	value, err := decoded(text)
	if err != nil {
		return nil, position{}, fmt.Errorf("%s: %w", name, err)
	}
	at := position{linesOf(name, text), ""}
	resolved := 0
	if p.loading == nil {
		p.loading = map[string]bool{}
	}
	p.loading[filepath.Clean(name)] = true
	defer delete(p.loading, filepath.Clean(name))
	return p.resolve(value, value, at, &resolved), at, nil
}

// maxReferences bounds the references of a file that are resolved, because each may contain others.
const maxReferences = 10_000

// resolve replaces references such as {"$ref": "#/assertionTemplates/polite"} by the referenced values. whole has the
// content of the file.
func (p *promptfoo) resolve(value, whole any, at position, resolved *int) any {
	switch v := value.(type) {
	case list:
		for i, one := range v {
			v[i] = p.resolve(one, whole, at.index(i), resolved)
		}
		return v
	case object:
		ref, isRef := v.get("$ref")
		if name, isText := ref.(string); isRef && isText {
			found, problem := p.lookupRef(name, whole)
			if *resolved++; problem == "" && *resolved > maxReferences {
				problem = fmt.Sprintf("is beyond the maximum of %d references", maxReferences)
			}
			if problem != "" {
				p.report.addNote(leftOut, at, "the file", "$ref: %s %s", name, problem)
				return unresolved(name)
			}
			found = p.resolve(found, whole, at, resolved)
			merged, isObject := found.(object)
			if !isObject {
				return found
			}
			for _, m := range v.without("$ref") {
				merged = merged.with(m.name, m.value)
			}
			return merged
		}
		made := make(object, len(v))
		for i, m := range v {
			made[i] = member{m.name, p.resolve(m.value, whole, at.member(m.name), resolved)}
		}
		return made
	}
	return value
}

// unresolved replaces a reference that cannot be resolved. Tests drop the part that contains it.
type unresolved string

// isUnresolved reports whether a value is or contains an unresolved reference.
func isUnresolved(value any) bool {
	switch v := value.(type) {
	case unresolved:
		return true
	case list:
		return slices.ContainsFunc(v, isUnresolved)
	case object:
		return slices.ContainsFunc(v, func(m member) bool { return isUnresolved(m.value) })
	}
	return false
}

// lookupRef returns the value of a reference, in this file or another one. problem explains why there is none.
func (p *promptfoo) lookupRef(reference string, whole any) (found any, problem string) {
	name, pointer, _ := strings.Cut(reference, "#")
	if name != "" {
		if problem := unreadableReason(name); problem != "" {
			return nil, problem
		}
		file := filepath.Clean(strings.TrimPrefix(name, "file://"))
		if p.loading[file] {
			return nil, "refers to its own file"
		}
		var err error
		if whole, _, err = p.load(file); err != nil {
			return nil, "is not found: " + err.Error()
		}
	}
	if pointer == "" && name != "" {
		return whole, ""
	}
	found, isFound := atPointer(whole, "#"+pointer)
	if !isFound {
		return nil, "is not found"
	}
	return found, ""
}

// atPointer returns the value at a JSON pointer such as #/a/0.
func atPointer(whole any, pointer string) (any, bool) {
	steps, isLocal := strings.CutPrefix(pointer, "#/")
	if !isLocal {
		return nil, false
	}
	value := whole
	for step := range strings.SplitSeq(steps, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var isFound bool
		if value, isFound = childValue(value, step); !isFound {
			return nil, false
		}
	}
	// Resolving a value that refers to itself would never end.
	text, err := json.Marshal(value)
	return value, err == nil && !strings.Contains(string(text), `"$ref":"`+pointer+`"`)
}

// loadReferenced returns the content of a file in the folder. If it cannot read the file, it reports that and returns
// nil.
func (p *promptfoo) loadReferenced(name, purpose string, at *position) any {
	fail := func(format string, args ...any) any {
		p.report.addNote(leftOut, *at, "the configuration", purpose+": "+format, args...)
		return nil
	}
	file := strings.TrimPrefix(name, "file://")
	if problem := unreadableReason(name); problem != "" {
		return fail("%s %s", name, problem)
	}
	value, inside, err := p.load(filepath.Clean(file))
	if err != nil {
		return fail("%v", err)
	}
	*at = inside
	return value
}

// file reads a file that a reference names. problem explains why it cannot be read.
func (p *promptfoo) file(reference string) (name string, text []byte, problem string) {
	if problem := unreadableReason(reference); problem != "" {
		return "", nil, reference + " " + problem
	}
	name = filepath.Clean(strings.TrimPrefix(reference, "file://"))
	text, err := p.readFile(name)
	if err != nil {
		return "", nil, err.Error()
	}
	return name, text, ""
}

// Extensions of files that are code, and of files without text.
var (
	codeEndings = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go", ".sh", ".exe"}
	noText      = []string{".xlsx", ".xls", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".mp3",
		".wav", ".mp4"}
)

// unreadableReason explains why a file that a reference names is not read. It returns "" if the file can be read.
func unreadableReason(name string) string {
	file := strings.TrimPrefix(name, "file://")
	ending := strings.ToLower(filepath.Ext(strings.SplitN(file, ":", 2)[0]))
	switch {
	case strings.Contains(file, "://"):
		return "is not on this machine"
	case ending == ".prompty":
		return "has an unsupported format: list its messages in a YAML file"
	case slices.Contains(codeEndings, ending):
		return "is code, which agentgraph does not run"
	case strings.ContainsAny(file, "*?[{"):
		return "is a pattern: import the files one by one"
	case slices.Contains(noText, ending):
		return "is not a text file"
	}
	return ""
}
