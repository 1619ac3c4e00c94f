package cli

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// maxWidth is the maximum width of help lines, in characters.
	maxWidth = 100
	// between is the space between two columns, in characters.
	between = 4
)

// printHelp prints the help of a command: its usage, description, examples, arguments or subcommands, and flags.
func printHelp(cmd *cobra.Command) {
	help := &page{width: widthOf(cmd.OutOrStdout())}
	help.paragraph("Usage: " + Usage(cmd))
	help.paragraph(cmd.Short)
	describe(help, cmd)
	if cmd == cmd.Root() {
		help.paragraph("Run \"" + cmd.Name() + " <command> --help\" for more information on a command.")
	}
	_, _ = io.WriteString(cmd.OutOrStdout(), help.text.String())
}

// document is a help text or a manual page that is being written.
type document interface {
	title(text string)
	paragraph(text string)
	// example writes lines as they are.
	example(lines string)
	// columns writes rows of two columns. A row whose first column is empty is an empty line.
	columns(rows [][2]string)
}

// describe writes what the help and the manual page of a command have in common.
func describe(d document, cmd *cobra.Command) {
	d.paragraph(cmd.Long)
	if cmd.Example != "" {
		d.title("Examples:")
		d.example(cmd.Example)
	}
	if arguments := Arguments(cmd); len(arguments) > 0 {
		d.title("Arguments:")
		d.columns(arguments)
	}
	describeCommands(d, cmd)
	d.title("Flags:")
	rows := flagRows(cmd.Root().PersistentFlags())
	if own := flagRows(ownFlags(cmd)); len(own) > 0 {
		rows = slices.Concat(rows, [][2]string{{}}, own)
	}
	d.columns(rows)
}

// describeCommands writes the subcommands, under the titles of their groups.
func describeCommands(d document, cmd *cobra.Command) {
	rowsOf := func(group string) (rows [][2]string) {
		for _, child := range cmd.Commands() {
			if !child.Hidden && child.GroupID == group {
				rows = append(rows, [2]string{child.Name(), child.Short})
			}
		}
		return rows
	}
	for _, group := range append([]*cobra.Group{{Title: "Commands:"}}, cmd.Groups()...) {
		if rows := rowsOf(group.ID); len(rows) > 0 {
			d.title(group.Title)
			d.columns(rows)
		}
	}
}

// Arguments returns the arguments of a command, each in its written form and with its help.
func Arguments(cmd *cobra.Command) [][2]string {
	var rows [][2]string
	for line := range strings.Lines(cmd.Annotations[argumentsKey]) {
		name, help, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, [2]string{name, help})
	}
	return rows
}

// DeclaredFlags returns the flags of a command in the order of its help, except those that all commands have.
func DeclaredFlags(cmd *cobra.Command) []Flag {
	var declared []Flag
	ownFlags(cmd).VisitAll(func(flag *pflag.Flag) {
		if v, isDeclared := flag.Value.(*value); isDeclared {
			declared = append(declared, v.Flag)
		}
	})
	return declared
}

// Summary returns the flag as a synopsis shows it, without its default.
func (f Flag) Summary() string {
	f.Default = ""
	return (&value{Flag: f}).summary()
}

// Usage returns the command with its required flags and its arguments.
func Usage(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	if cmd.HasSubCommands() {
		words = append(words, "<command>")
	}
	ownFlags(cmd).VisitAll(func(flag *pflag.Flag) {
		if v, isDeclared := flag.Value.(*value); isDeclared && v.Required {
			words = append(words, v.summary())
		}
	})
	for _, argument := range Arguments(cmd) {
		words = append(words, argument[0])
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// ownFlags returns the flags of the command, except those that all commands have.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	own.SortFlags = false
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if cmd.Root().PersistentFlags().Lookup(flag.Name) == nil {
			own.AddFlag(flag)
		}
	})
	return own
}

func flagRows(flags *pflag.FlagSet) [][2]string {
	var rows [][2]string
	flags.VisitAll(func(flag *pflag.Flag) {
		name, help := "--"+flag.Name, flag.Usage
		if v, isDeclared := flag.Value.(*value); isDeclared {
			name, help = v.summary(), v.help()
		} else if _, isNegation := flags.Lookup(strings.TrimPrefix(flag.Name, "no-")).Value.(*value); isNegation {
			return // The row of the flag without no- shows both.
		}
		short := "    "
		if flag.Shorthand != "" {
			short = "-" + flag.Shorthand + ", "
		}
		rows = append(rows, [2]string{short + name, help})
	})
	return rows
}

// summary returns the flag as the help shows it.
func (v *value) summary() string {
	if _, isBool := v.Into.(*bool); !isBool {
		return "--" + v.Name + "=" + v.placeholder()
	}
	if v.Negatable {
		return "--[no-]" + v.Name
	}
	return "--" + v.Name
}

// placeholder returns the placeholder of the value in the help.
func (v *value) placeholder() string {
	text := cmp.Or(v.Placeholder, v.Default, v.kind().placeholder)
	_, isString := v.Into.(*string)
	switch {
	case v.Placeholder == "" && v.Default != "" && isString:
		return strconv.Quote(text)
	case v.kind().isList && v.kind().expected != "NAME=VALUE" && !strings.Contains(text, ","):
		return text + ",..."
	}
	return text
}

// help returns the help of the flag, with its environment variable. The default is added unless it is the placeholder.
func (v *value) help() string {
	var notes []string
	if _, isBool := v.Into.(*bool); v.Default != "" && (isBool || v.Placeholder != "") {
		notes = append(notes, "default "+v.Default)
	}
	if v.Env != "" {
		notes = append(notes, "$"+v.Env)
	}
	help := v.Help
	if len(notes) > 0 {
		help = strings.TrimSuffix(help, ".") + " (" + strings.Join(notes, ", ") + ")."
	}
	if v.Secret {
		help += " Process lists show flags. Set the variable instead, or name a file with " + v.Env + "_FILE."
	}
	return help
}

// page is the document of a help text.
type page struct {
	width int
	text  strings.Builder
}

func (p *page) title(text string) { p.text.WriteString("\n" + text + "\n") }

// paragraph writes an empty line and the text, unless the text is empty.
func (p *page) paragraph(text string) {
	if text == "" {
		return
	}
	if p.text.Len() > 0 {
		p.text.WriteString("\n")
	}
	for _, line := range wrap(text, p.width) {
		p.text.WriteString(line + "\n")
	}
}

// example writes the lines with an indent.
func (p *page) example(lines string) {
	p.text.WriteString("\n  " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n")
}

// columns writes rows of two columns. A row whose first column is empty is an empty line. If the first column is too
// wide, the second one starts on the next line.
func (p *page) columns(rows [][2]string) {
	const indent = 2
	most, widest := p.width*3/8, 0
	for _, row := range rows {
		if n := Columns(row[0]); n <= most {
			widest = max(widest, n)
		}
	}
	second := strings.Repeat(" ", indent+widest+between)
	for _, row := range rows {
		if row[0] == "" {
			p.text.WriteString("\n")
			continue
		}
		p.text.WriteString("  " + row[0])
		lines := wrap(row[1], max(p.width-len(second), usualWidth/4))
		if n := Columns(row[0]); n <= widest {
			p.text.WriteString(strings.Repeat(" ", widest+between-n))
		} else {
			p.text.WriteString("\n" + second)
		}
		p.text.WriteString(strings.Join(lines, "\n"+second) + "\n")
	}
}

// widthOf returns the width of help lines, in characters: COLUMNS or the width of the terminal, but at most maxWidth.
func widthOf(out io.Writer) int {
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || columns <= 0 {
		columns = Width(out)
	}
	return min(columns, maxWidth)
}
