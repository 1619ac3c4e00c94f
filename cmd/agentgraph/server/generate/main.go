// Command generate writes the table of settings into docs/guides/operations.md, and deploy/systemd/environment.
package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
)

// begin and end are the lines around the table in the document.
const begin, end = "<!-- settings: made by make generate -->\n", "<!-- end of settings -->\n"

func main() {
	root := filepath.Join("..", "..", "..")
	if err := writeDocs(filepath.Join(root, "docs", "guides", "operations.md")); err != nil {
		log.Fatal(err)
	}
	environment := filepath.Join(root, "deploy", "systemd", "environment")
	if err := os.WriteFile(environment, []byte(environmentFile()), 0o644); err != nil {
		log.Fatal(err)
	}
}

// writeDocs replaces the table in the document.
func writeDocs(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, isThere := strings.Cut(string(text), begin)
	_, after, isClosed := strings.Cut(rest, end)
	if !isThere || !isClosed {
		return fmt.Errorf("%s lacks the lines %q and %q", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+table()+end+after), 0o644)
}

// table returns a title and a table for each group of settings.
func table() string {
	var text strings.Builder
	for _, group := range server.SettingGroups() {
		fmt.Fprintf(&text, "\n**%s**\n\n| variable | default | meaning |\n|---|---|---|\n", group.Title)
		for _, f := range group.Flags {
			meaning := strings.ReplaceAll(strings.TrimSpace(f.Help+" "+f.Docs), "|", `\|`)
			fmt.Fprintf(&text, "| `%s` |%s | %s |\n", f.Env, defaultOf(f), meaning)
		}
	}
	return text.String() + "\n"
}

func defaultOf(f cli.Flag) string {
	if _, isSwitch := f.Into.(*bool); isSwitch {
		return " `" + cmp.Or(f.Default, "false") + "`"
	}
	if f.Default == "" {
		return ""
	}
	return " `" + f.Default + "`"
}

// environmentFile returns a file for systemd in which each setting of serve is a comment.
func environmentFile() string {
	var text strings.Builder
	text.WriteString("# Settings of \"agentgraph serve\". Copy this file to /etc/agentgraph/environment (owner root, " +
		"mode 0600).\n")
	for _, group := range server.SettingGroups() {
		if group.Title == "Only for dev" {
			continue
		}
		fmt.Fprintf(&text, "\n# %s\n", group.Title)
		for _, f := range group.Flags {
			fmt.Fprintf(&text, "\n# %s\n", f.Help)
			assignment := f.Env + "=" + f.Default
			if !f.Required {
				assignment = "#" + assignment
			}
			text.WriteString(assignment + "\n")
		}
	}
	return text.String()
}
