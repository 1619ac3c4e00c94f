// Command generate writes the pages of docs/reference that come from the program itself, and
// deploy/systemd/environment.example. Run it in its own directory. With -release it instead writes the manual pages and
// the completion scripts that packages install, into a directory.
package main

import (
	"embed"
	"flag"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
)

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"md": markdown, "first": firstSentence, "default": defaultOf, "anchor": anchor,
	"enumerate": enumerate, "links": settingsLinks,
	"kinds": kinds, "kind": kindOf,
}).ParseFS(files, "*.tmpl"))

func main() {
	release := flag.String("release", "", "only write manual pages and completion scripts, into this directory")
	version := flag.String("version", "", "the version in manual pages")
	flag.Parse()
	if *release != "" {
		writeRelease(*release, *version)
		return
	}
	root := filepath.Join("..", "..", "..")
	reference := filepath.Join(root, "docs", "reference")
	api := readSchema()
	write(filepath.Join(reference, "cli.md"), "cli.md.tmpl", readCommands())
	write(filepath.Join(reference, "settings.md"), "settings.md.tmpl", server.SettingGroups())
	write(filepath.Join(root, "deploy", "systemd", "environment.example"), "environment.tmpl", server.SettingGroups())
	write(filepath.Join(reference, "exit-codes.md"), "exit-codes.md.tmpl", client.ExitCodes)
	write(filepath.Join(reference, "metrics.md"), "metrics.md.tmpl", readMetrics())
	write(filepath.Join(reference, "webhook-events.md"), "webhook-events.md.tmpl", readEvents(api.schema))
	write(filepath.Join(reference, "graphql.md"), "graphql.md.tmpl", api)
	if err := os.RemoveAll(filepath.Join(reference, "schema")); err != nil {
		log.Fatal(err)
	}
	for _, area := range api.Areas {
		write(filepath.Join(reference, "schema", area.Slug+".md"), "graphql-area.md.tmpl", area)
	}
}

// write executes a template and writes the result to a file. It creates the directory of the file.
func write(path, name string, data any) {
	var text strings.Builder
	err := templates.ExecuteTemplate(&text, name, data)
	page := strings.TrimSpace(blankLines.ReplaceAllString(text.String(), "\n\n")) + "\n"
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // for everybody
	}
	if err == nil {
		err = os.WriteFile(path, []byte(page), 0o644) //nolint:gosec // for everybody
	}
	if err != nil {
		log.Fatal(err)
	}
}

var (
	blankLines = regexp.MustCompile(`\n{3,}`)
	// literal matches links, and text that is formatted as code outside of links: flags, variables and addresses.
	literal  = regexp.MustCompile(`\]\([^)]*\)|--[a-z][a-z0-9-]*[a-z0-9]|\b[A-Z]+(?:_[A-Z0-9]+)+\b|\b(?:https?|nats)://[^\s,)]*[^\s,).;]`)
	sentence = regexp.MustCompile(`^.*?[.](?:\s|$)`)
)

// markdown returns a description as one line for a table cell. Both GitHub and Vue render it as text.
func markdown(text string) string {
	parts := strings.Split(strings.Join(strings.Fields(text), " "), "`")
	for i := 0; i < len(parts); i += 2 { // Parts with odd indexes are code.
		part := strings.NewReplacer("<", "&lt;", "{{", "&#123;&#123;").Replace(parts[i])
		parts[i] = literal.ReplaceAllStringFunc(part, func(found string) string {
			if strings.HasPrefix(found, "]") {
				return found
			}
			return "`" + found + "`"
		})
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "|", `\|`)
}

// anchor returns the anchor of a heading that has only letters and spaces, as GitHub and VitePress compute it.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

// enumerate joins words with commas, and the last two with "and".
func enumerate(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// settingsLinks returns links to chapters of the settings.
func settingsLinks(titles []string) []string {
	links := make([]string, len(titles))
	for i, title := range titles {
		links[i] = "[" + title + "](settings.md#" + anchor(title) + ")"
	}
	return links
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first := sentence.FindString(text); first != "" {
		return strings.TrimSpace(first)
	}
	return text
}
