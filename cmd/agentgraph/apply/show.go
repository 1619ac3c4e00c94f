package apply

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// lines returns text with a replacement character for each character of model.IsControl, except line feeds and tabs.
func lines(text string) string {
	return strings.Map(func(r rune) rune {
		if model.IsControl(r) && r != '\n' && r != '\t' {
			return '�'
		}
		return r
	}, text)
}

var verbSymbols = map[string]string{"create": "+", "change": "~", "delete": "-"}

func (p *changeSet) show(out io.Writer) {
	for _, ch := range p.changes {
		ch.show(out)
	}
	if len(p.changes) == 0 {
		_, _ = fmt.Fprintln(out, "Nothing differs.")
	} else {
		_, _ = fmt.Fprintf(out, "%d to create, %d to change, %d to delete\n", p.count("create"), p.count("change"),
			p.count("delete"))
	}
	showNotes(out, p.notes)
}

// showNotes prints the notes of a change set or of written files.
func showNotes(out io.Writer, notes []string) {
	for _, note := range notes {
		_, _ = fmt.Fprintln(out, "Note:", note)
	}
}

func (p *changeSet) count(verb string) (n int) {
	for _, ch := range p.changes {
		if ch.verb == verb {
			n++
		}
	}
	return n
}

func (ch *change) show(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s %s %s%s\n", verbSymbols[ch.verb], ch.verb, ch.resource, ch.loss())
	for _, d := range slices.Concat(ch.inline, ch.separate) {
		d.show(out, ch.verb == "create")
	}
	ch.showHeaders(out)
	ch.showDocuments(out)
	_, _ = fmt.Fprintln(out)
}

// showHeaders prints which environment variables are sent as headers of a tool, and to which origin. It never prints
// their values.
func (ch *change) showHeaders(out io.Writer) {
	for _, h := range ch.sentHeaders() {
		_, _ = fmt.Fprintf(out, "    %s is sent to %s as the header %s\n", h.value,
			client.Printable(originOf(ch.resource.desired.object("endpoint"))), client.Printable(h.name))
	}
}

// sentHeaders returns the environment variables of the headers that are sent, by header name.
func (ch *change) sentHeaders() object {
	if !ch.headers {
		return nil
	}
	return ch.resource.headers
}

func (ch *change) showDocuments(out io.Writer) {
	for _, d := range ch.addedDocuments {
		_, _ = fmt.Fprintf(out, "    documents: + %s, %d bytes\n", client.Printable(d.name), d.size)
	}
	for _, s := range ch.deletedDocuments {
		_, _ = fmt.Fprintf(out, "    documents: - %s, %d bytes\n", client.Printable(s.name), s.size)
	}
}

// loss describes what is deleted along with a resource.
func (ch *change) loss() string {
	if ch.verb != "delete" {
		return ""
	}
	switch ch.resource.kind {
	case agent:
		return ", with its prompt versions, simulated chats, tests and campaigns"
	case dataset:
		return ", with its " + client.Pluralize(len(ch.resource.stored), "document")
	case folder:
		return "; its tests move to the root"
	}
	return ""
}

// longest is the maximum length in bytes of a text that is shown on the same line as its name. longestList is the
// maximum for a list or an object.
const longest, longestList = 100, 60

func isShort(shown string, value any) bool {
	switch value.(type) {
	case list, object:
		return len(shown) <= longestList
	}
	return len(shown) <= longest && !strings.Contains(shown, "\n")
}

func (d difference) show(out io.Writer, isNew bool) {
	old, now := d.textOf(d.old, true), d.textOf(d.desired, true)
	switch {
	case isNew && isShort(now, d.desired):
		_, _ = fmt.Fprintf(out, "    %s: %s\n", d.name, now)
	case isNew && d.name == "endpoint":
		_, _ = fmt.Fprintf(out, "    %s:\n      %s\n", d.name,
			strings.ReplaceAll(d.textOf(d.desired, false), "\n", "\n      "))
	case isNew:
		now = d.textOf(d.desired, false)
		_, _ = fmt.Fprintf(out, "    %s: %d characters on %d lines\n", d.name, len([]rune(now)),
			strings.Count(strings.TrimSuffix(now, "\n"), "\n")+1)
	case isShort(now, d.desired) && isShort(old, d.old):
		_, _ = fmt.Fprintf(out, "    %s: %s → %s\n", d.name, old, now)
	default:
		_, _ = fmt.Fprintf(out, "    %s:\n", d.name)
		unified := udiff.Unified("", "", withNewline(d.textOf(d.old, false)), withNewline(d.textOf(d.desired, false)))
		for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
			if i > 1 { // The first two lines name files.
				_, _ = fmt.Fprintf(out, "      %s\n", line)
			}
		}
	}
}

func withNewline(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

// textOf returns a value for people. A text that is long or has several lines is shown as text. Any other value is
// shown as YAML, on one line if onOneLine is set.
func (d difference) textOf(value any, onOneLine bool) string {
	written := d.shape.fileValue(value)
	if text, ok := written.(string); ok && (strings.Contains(text, "\n") || len(text) > longest) {
		return lines(text)
	}
	options := []yaml.EncodeOption{yaml.UseLiteralStyleIfMultiline(true)}
	if onOneLine {
		options = []yaml.EncodeOption{yaml.Flow(true)}
	}
	encoded, err := yaml.MarshalWithOptions(toYAML(written), options...)
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(lines(string(encoded)), "\n")
}

// report returns the change set and its progress for JSON output. A list is never null.
func (p *changeSet) report() object {
	changes := list{}
	for _, ch := range p.changes {
		changes = append(changes, ch.report())
	}
	return object{
		{"created", p.count("create")}, {"changed", p.count("change")}, {"deleted", p.count("delete")},
		{"changes", changes}, {"notes", append([]string{}, p.notes...)},
		{"warnings", append([]string{}, p.warnings...)},
	}
}

// report returns the change. Its id is null until the resource exists, and the place in the files is null for a
// deletion.
func (ch *change) report() object {
	t := ch.resource
	var id, agent, file any
	if t.id != "" {
		id = t.id
	}
	if t.agent != nil {
		agent = t.agent.name()
	}
	if t.at.source != nil {
		file = t.at.String()
	}
	fields, added, gone, headers := list{}, list{}, list{}, list{}
	for _, d := range slices.Concat(ch.inline, ch.separate) {
		fields = append(fields,
			object{{"field", d.name}, {"old", d.shape.fileValue(d.old)}, {"new", d.shape.fileValue(d.desired)}})
	}
	for _, d := range ch.addedDocuments {
		added = append(added, object{{"name", d.name}, {"bytes", d.size}})
	}
	for _, s := range ch.deletedDocuments {
		gone = append(gone, object{{"name", s.name}, {"bytes", s.size}})
	}
	for _, h := range ch.sentHeaders() {
		variable, _, _ := environment(h.value.(string))
		headers = append(headers, object{{"name", h.name}, {"variable", variable}})
	}
	return object{
		{"verb", ch.verb}, {"kind", t.kind.typeName}, {"id", id}, {"name", t.name()}, {"agent", agent}, {"file", file},
		{"fields", fields}, {"addedDocuments", added}, {"deletedDocuments", gone}, {"sendsHeaders", ch.headers},
		{"headers", headers}, {"done", ch.isDone},
	}
}

// testsAtOnce is how many tests one request checks.
const testsAtOnce = 50

const obstaclesDocument = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on AgentTest { obstacles } } }`

// warn prints why written tests cannot run as described, and records these warnings.
func (p *changeSet) warn(ctx context.Context, out io.Writer, server *api) error {
	var tests []*resource
	for _, ch := range p.changes {
		if ch.resource.kind.isTest() && ch.verb != "delete" {
			tests = append(tests, ch.resource)
		}
	}
	for some := range slices.Chunk(tests, testsAtOnce) {
		ids := make([]string, len(some))
		for i, test := range some {
			ids[i] = test.id
		}
		var read struct {
			Nodes []*struct{ Obstacles []string }
		}
		if err := server.Query(ctx, obstaclesDocument, client.Variables{"ids": ids}, &read); err != nil {
			return fmt.Errorf("everything was applied, but the warnings about the tests could not be read: %w", err)
		}
		for i, node := range read.Nodes {
			if node == nil {
				continue // the test has been deleted since
			}
			for _, obstacle := range node.Obstacles {
				text := fmt.Sprintf("%s: %s", some[i], client.Printable(obstacle))
				p.warnings = append(p.warnings, text)
				_, _ = fmt.Fprintln(out, "Warning:", text)
			}
		}
	}
	return nil
}

// summary returns how much was changed, and the number of warnings.
func (p *changeSet) summary() string {
	if len(p.changes) == 0 {
		return "Nothing differs."
	}
	text := fmt.Sprintf("%d created, %d changed, %d deleted", p.count("create"), p.count("change"), p.count("delete"))
	if n := len(p.warnings); n > 0 {
		text += ", " + client.Pluralize(n, "warning")
	}
	return text
}
