package apply

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// outcome is the result for a part of another tool's file.
type outcome int

const (
	carriedOver outcome = iota
	approximated
	leftOut
	// notNeeded parts configure the other tool itself, or have no effect in it.
	notNeeded
)

// note describes how a part of another tool's file was imported.
type note struct {
	outcome outcome
	at      position
	// owner names the test, or the part of the file.
	owner, text string
}

func (n note) String() string {
	return client.Printable(fmt.Sprintf("%s  %s: %s", n.at, n.owner, n.text))
}

// report is the outcome of importing a file.
type report struct {
	notes []note
	known map[string]bool
}

// addNote appends a note, unless it is a duplicate: the defaults of a file are the same for all of its tests.
func (r *report) addNote(outcome outcome, at position, owner, text string, args ...any) {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	n := note{outcome, at, owner, text}
	if key := fmt.Sprint(outcome, n); !r.known[key] {
		if r.known == nil {
			r.known = map[string]bool{}
		}
		r.known[key] = true
		r.notes = append(r.notes, n)
	}
}

func (r *report) positionOf(test string) position {
	for _, n := range r.notes {
		if n.outcome == carriedOver && n.owner == test {
			return n.at
		}
	}
	return position{}
}

func (r *report) count(o outcome) (n int) {
	for _, one := range r.notes {
		if one.outcome == o {
			n++
		}
	}
	return n
}

var outcomeTitles = map[outcome]string{
	carriedOver: "Carried over:", approximated: "Approximated:", leftOut: "Left out:",
	notNeeded: "Not needed, or not counted by the other tool:",
}

func (r *report) write(to io.Writer) {
	for _, o := range []outcome{carriedOver, notNeeded, approximated, leftOut} {
		if r.count(o) == 0 {
			continue
		}
		_, _ = fmt.Fprintln(to, outcomeTitles[o])
		for _, n := range r.notes {
			if n.outcome == o {
				_, _ = fmt.Fprintln(to, "  "+n.String())
			}
		}
	}
	_, _ = fmt.Fprintf(to, "%s carried over, %s approximated, %s left out.\n",
		client.Pluralize(r.count(carriedOver), "test"), client.Pluralize(r.count(approximated), "part"),
		client.Pluralize(r.count(leftOut), "part"))
}

// position is a place in a file.
type position struct {
	in   *sourceLines
	path string
}

func (p position) member(name string) position { return position{p.in, p.path + "/" + name} }
func (p position) index(i int) position        { return p.member(strconv.Itoa(i)) }

// String returns the file and the line of the position, or of the nearest ancestor with a known line.
func (p position) String() string {
	if p.in == nil {
		return "-"
	}
	for path := p.path; ; path = path[:strings.LastIndexByte(path, '/')] {
		if line, known := p.in.lines[path]; known || path == "" {
			return fmt.Sprintf("%s:%d", p.in.name, max(1, line))
		}
	}
}

// sourceLines has the line of each value in a file, by path.
type sourceLines struct {
	name  string
	lines map[string]int
}

// deepestLine is the maximum depth of values whose lines are recorded.
const deepestLine = 8

// linesOf returns the lines of a YAML or JSON file.
func linesOf(name string, text []byte) *sourceLines {
	l := &sourceLines{name, map[string]int{}}
	if json.Valid(text) {
		l.walkJSON(text)
		return l
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return l // decoding reports the error
	}
	for _, document := range parsed.Docs {
		l.walkYAML(document.Body, "", 0)
	}
	return l
}

func (l *sourceLines) walkYAML(node ast.Node, path string, depth int) {
	if depth > deepestLine {
		return
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		l.walkYAML(n.Value, path, depth)
	case *ast.TagNode:
		l.walkYAML(n.Value, path, depth)
	case *ast.MappingNode:
		for i, v := range n.Values {
			line := v.Key.GetToken().Position.Line
			if i == 0 {
				l.lines[path] = line
			}
			below := path + "/" + keyOfNode(v.Key)
			l.walkYAML(v.Value, below, depth+1)
			l.lines[below] = line
		}
	case *ast.SequenceNode:
		for i, v := range n.Values {
			below := path + "/" + strconv.Itoa(i)
			if token := v.GetToken(); token != nil && token.Position != nil {
				l.lines[below] = token.Position.Line
			}
			l.walkYAML(v, below, depth+1)
		}
	}
}

// walkJSON records the lines of a valid JSON text.
func (l *sourceLines) walkJSON(text []byte) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	line, counted := 1, int64(0)
	here := func() int {
		at := decoder.InputOffset()
		line += strings.Count(string(text[counted:at]), "\n")
		counted = at
		return line
	}
	var value func(path string, depth int)
	value = func(path string, depth int) {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		if depth <= deepestLine {
			l.lines[path] = here()
		}
		switch token {
		case json.Delim('['):
			for i := 0; decoder.More(); i++ {
				value(path+"/"+strconv.Itoa(i), depth+1)
			}
		case json.Delim('{'):
			for decoder.More() {
				name, _ := decoder.Token()
				value(fmt.Sprintf("%s/%v", path, name), depth+1)
			}
		default:
			return
		}
		_, _ = decoder.Token()
	}
	value("", 0)
}
