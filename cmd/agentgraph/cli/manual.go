package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Manual returns the manual page of a command in roff, with the same content as its help. The date is part of it.
func Manual(cmd *cobra.Command, date string) string {
	page := &manual{}
	name := ManualName(cmd)
	page.line(".TH", strings.ToUpper(name), "1", date, cmd.Root().Name()+" "+Version(cmd))
	page.title("Name")
	page.text.WriteString(escape(name+" - "+strings.TrimSuffix(cmd.Short, ".")) + "\n")
	page.title("Synopsis")
	page.line(".B", Usage(cmd))
	if cmd.Long != "" {
		page.title("Description")
	}
	describe(page, cmd)
	var others []string
	if cmd.HasParent() {
		others = append(others, ManualName(cmd.Parent())+"(1)")
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			others = append(others, ManualName(child)+"(1)")
		}
	}
	if len(others) > 0 {
		page.title("See also")
		page.paragraph(strings.Join(others, ", "))
	}
	return page.text.String()
}

// ManualName returns the name of a command's manual page, such as agentgraph-serve.
func ManualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manual is the document of a manual page.
type manual struct{ text strings.Builder }

func (m *manual) title(text string) { m.line(".SH", strings.ToUpper(strings.TrimSuffix(text, ":"))) }

func (m *manual) paragraph(text string) {
	if text != "" {
		m.text.WriteString(".PP\n" + escape(text) + "\n")
	}
}

func (m *manual) example(lines string) { m.text.WriteString(".nf\n" + escape(lines) + "\n.fi\n") }

func (m *manual) columns(rows [][2]string) {
	for _, row := range rows {
		if row[0] != "" {
			m.text.WriteString(".TP\n")
			m.line(".B", strings.TrimSpace(row[0]))
			m.text.WriteString(escape(row[1]) + "\n")
		}
	}
}

func (m *manual) line(request string, arguments ...string) {
	m.text.WriteString(request)
	for _, argument := range arguments {
		_, _ = fmt.Fprintf(&m.text, ` "%s"`, strings.ReplaceAll(escape(argument), `"`, `""`))
	}
	m.text.WriteString("\n")
}

// special matches what roff would not print as it is: backslashes, hyphens, and periods and quotation marks that begin
// a line.
var special = regexp.MustCompile(`(?m)\\|-|^[.']`)

func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case `\`:
			return `\e`
		case "-":
			return `\-`
		}
		return `\&` + found
	})
}
