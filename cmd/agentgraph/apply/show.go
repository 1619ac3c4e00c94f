package apply

import (
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

// show prints the planned changes.
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
