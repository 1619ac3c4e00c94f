package agentgraph

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	markdown "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page has the parts of a document that can be checked.
type page struct {
	// links are the destinations of links and images.
	links []string
	// anchors are the headings, as GitHub names them in addresses.
	anchors map[string]bool
	// commands are the lines of code blocks, and code within sentences. names are only the latter.
	commands, names []string
}

func TestDocumentLinksExist(t *testing.T) {
	t.Parallel()
	pages := readDocuments(t)
	linked := map[string]bool{}
	for name, p := range pages {
		for _, link := range p.links {
			to, err := url.Parse(link)
			require.NoError(t, err, "%s links to %s", name, link)
			if to.IsAbs() || to.Host != "" {
				continue
			}
			target := name
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(name), filepath.FromSlash(to.Path))
			}
			require.True(t, filepath.IsLocal(target), "%s links to %s, which is outside of the repository", name, link)
			_, err = os.Stat(target)
			require.NoError(t, err, "%s links to %s", name, link)
			if target != name {
				linked[target] = true
			}
			if to.Fragment != "" {
				at, known := pages[target]
				require.True(t, known, "%s links to %s, a heading in a file that is not a document", name, link)
				require.True(t, at.anchors[to.Fragment], "%s links to %s, which has no such heading", name, link)
			}
		}
	}
	for name := range pages {
		isStart := filepath.Dir(name) == "." || name == "docs/index.md"
		require.True(t, isStart || linked[name], "no document links to %s", name)
	}
}

var (
	makeCommand = regexp.MustCompile(`^make\s+([a-z][a-z0-9-]*)`)
	makeTarget  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	ourCommand  = regexp.MustCompile(`^(?:- run: )?(?:\./|go run \./cmd/)?agentgraph((?:\s+[a-z]+)+)`)
)

func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, found := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets[found[1]] = true
	}
	known := readCommands(t)
	require.Greater(t, len(known), 20, "commands of the program")
	made, run := 0, 0
	for name, p := range readDocuments(t) {
		for _, line := range p.commands {
			if found := makeCommand.FindStringSubmatch(line); found != nil {
				require.True(t, targets[found[1]], "%s names make %s, which the Makefile does not have", name, found[1])
				made++
			}
			if found := ourCommand.FindStringSubmatch(line); found != nil {
				at := ""
				for _, word := range strings.Fields(found[1]) {
					if at != "" && !known[at] {
						break // the rest are arguments of the command
					}
					at = strings.TrimSpace(at + " " + word)
					require.Contains(t, known, at, "%s names %s, which the program does not know", name, found[0])
				}
				run++
			}
		}
	}
	require.Greater(t, made, 10, "commands of make")
	require.Greater(t, run, 10, "commands of the program")
	require.NotRegexp(t, `(?m)^[a-z0-9-]+:.*## .*\$\$`, string(makefile), "make help prints both dollar signs")
}

var (
	codePath = regexp.MustCompile(`^\w[\w./-]*\.(?:go|graphqls?|json|md|sql|tsx?|txt|yaml)$`)
	codeName = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	codeWord = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// notInCode are names in internals that our sources do not have: methods of cobra, and a German word.
var notInCode = []string{"SetUsageTemplate", "SetHelpTemplate", "SetVersionTemplate", "Veranstalter"}

// Files and names in code spans of the pages for contributors must occur in the sources. "make worked-example" checks
// the page that adds files.
func TestInternalsNameExistingCode(t *testing.T) {
	t.Parallel()
	words, paths := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && generated.MatchString(path):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		for rest, isPart := path, true; isPart; _, rest, isPart = strings.Cut(rest, "/") {
			paths[rest] = true
		}
		if generated.MatchString(path) || filepath.Ext(path) == ".md" || path == "docs_test.go" {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, word := range codeWord.FindAll(source, -1) {
			words[string(word)] = true
		}
		return err
	}))
	checked := 0
	for name, p := range readDocuments(t) {
		if !strings.HasPrefix(name, "docs/internals/") || name == "docs/internals/adding-a-type.md" {
			continue
		}
		for _, span := range p.names {
			switch {
			case codePath.MatchString(span):
				require.True(t, paths[span], "%s names the file %s, which does not exist", name, span)
			case codeName.MatchString(span) && !slices.Contains(notInCode, span):
				for _, word := range strings.Split(span, ".") {
					require.True(t, words[word], "%s names %s, which is not in the sources", name, span)
				}
			}
			checked++
		}
	}
	require.Greater(t, checked, 300)
}

// readDocuments returns the documents by their paths.
func readDocuments(t *testing.T) map[string]*page {
	names := []string{"README.md", "CONTRIBUTING.md"}
	require.NoError(t, filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if path == "docs/node_modules" || path == "docs/.vitepress" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			names = append(names, path)
		}
		return err
	}))
	pages := map[string]*page{}
	for _, name := range names {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		pages[name] = readDocument(t, source)
	}
	return pages
}

func readDocument(t *testing.T, source []byte) *page {
	p := &page{anchors: map[string]bool{}}
	document := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	require.NoError(t, markdown.Walk(document, func(node markdown.Node, entering bool) (markdown.WalkStatus, error) {
		if !entering {
			return markdown.WalkContinue, nil
		}
		switch node := node.(type) {
		case *markdown.Link:
			p.links = append(p.links, string(node.Destination))
		case *markdown.Image:
			p.links = append(p.links, string(node.Destination))
		case *markdown.Heading:
			slug := slugOf(textOf(node, source))
			anchor := slug
			for again := 1; p.anchors[anchor]; again++ {
				anchor = slug + "-" + strconv.Itoa(again)
			}
			p.anchors[anchor] = true
		case *markdown.CodeSpan:
			p.commands, p.names = append(p.commands, textOf(node, source)), append(p.names, textOf(node, source))
		case *markdown.FencedCodeBlock:
			for line := range strings.Lines(string(node.Lines().Value(source))) {
				p.commands = append(p.commands, strings.TrimSpace(line))
			}
		}
		return markdown.WalkContinue, nil
	}))
	return p
}

// textOf returns the visible text of an inline node.
func textOf(node markdown.Node, source []byte) string {
	if leaf, ok := node.(*markdown.Text); ok {
		return string(leaf.Value(source))
	}
	var all strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		all.WriteString(textOf(child, source))
	}
	return all.String()
}

// slugOf returns GitHub's anchor of a heading: lower case, without punctuation, hyphens for spaces.
func slugOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
			return r
		default:
			return -1
		}
	}, strings.ToLower(heading))
}

var commandHeading = regexp.MustCompile(`(?m)^### agentgraph (.+)$`)

// readCommands returns the commands of the program, and whether they have subcommands. It reads the reference, which is
// generated from the commands.
func readCommands(t *testing.T) map[string]bool {
	reference, err := os.ReadFile("docs/reference/cli.md")
	require.NoError(t, err)
	commands := map[string]bool{}
	for _, found := range commandHeading.FindAllStringSubmatch(string(reference), -1) {
		words := strings.Fields(found[1])
		commands[found[1]] = false
		for n := 1; n < len(words); n++ {
			commands[strings.Join(words[:n], " ")] = true
		}
	}
	return commands
}
