package agentgraph

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxWords is the maximum number of words in a sentence of a comment or a document.
const maxWords = 40

// habits are phrases that are hard to read, each with advice. CONTRIBUTING.md has the rules behind them.
var habits = []struct{ phrase, advice string }{
	{`in place of`, "instead of"},
	{`but for`, "except"},
	{`not any more`, "no longer"},
	{`begun`, "started"},
	{`(?:leaves?|left|stays?|keeps?|kept|takes?|taken) (?:\w+ )?as it is`, "unchanged"},
	{`let go of`, "release"},
	{`anew`, "again"},
	{`what is (?:more|left)`, "the rest"},
	{`whoever`, "name the subject"},
	{`what (?:came|became) of`, "name the outcome"},
	{`of before`, "earlier, or older"},
	{`(?:are|is|was|were) told`, "say who learns what"},
	{`those who`, "name them"},
	{`(?:for|of|to) who has`, "name them"},
	{`so many`, "say how many, or leave it out"},
	{`, of which`, "two sentences"},
	{`goes on|go on`, "continue"},
	{`told apart`, "distinguish"},
	{`word for word`, "verbatim"},
	{`for good`, "permanently"},
	{`for ever`, "forever, or no limit"},
	{`by (?:itself|themselves)`, "say when, or leave it out"},
	{`under way`, "in progress"},
	{`beside each other`, "together, at the same time"},
	{`dear(?:er|est)?`, "expensive"},
	{`comes? to (?:the same|nothing)`, "is the same"},
	{`hangs? on`, "depends on"},
	{`stands? (?:on|behind|there|alone|before)`, "name the relation"},
	{`takes? apart`, "parse, or split"},
	{`as it stands`, "unchanged"},
	{`signs? of life`, "ping, or heartbeat"},
	{`handed back`, "returned"},
	{`told by`, "distinguished by"},
	{`by lot`, "at random"},
	{`looks? (?:at|whether)`, "read, or check"},
	{`(?:is|are|was|were) away`, "unavailable"},
	{`nobody knows`, "say what is unknown"},
	{`(?:is|are) there twice`, "occurs twice"},
	{`the flag again`, "repeat the flag"},
	{`again and again`, "repeatedly"},
	{`any ?more`, "no longer"},
	{`(?:is|are|was|were) gone`, "deleted, disconnected or ended"},
	{`and (?:is|are) none`, "is not one"},
	{`at times`, "sometimes"},
	{`(?:breaks?|broke|broken) off`, "end, cut off or close"},
	{`hand(?:s|ed) out`, "return, or claim"},
	{`(?:of|in) two minds`, "disagree"},
	{`made up`, "invented"},
	{`^what (?:is|was|are|were)`, "start with a noun"},
	{`one (?:row|byte|line|message|statement) more`, "one more"},
	{`as everywhere`, "say what is the same, and why"},
	{`acts? by`, "say whose key it is, or who calls"},
	{`meanwhile`, "say during what, or since when"},
	{`fits? (?:the|a|an|its|their) schemas?`, "match"},
	{`instead, but not both`, "say when the field must be given"},
	{`(?:that|it|which|file|value|answer|response) is no (?:text|list|object|archive|number|field|member)`, "is not a"},
	{`also (?:when|while)`, "even when, or even while"},
	{`ctx's (?:once|if)|(?:error|failure) is ctx's`, "ctx's error"},
	{`(?:is|are) after how (?:many|long)`, "the number, or the time, until"},
	{`, else (?:the|from|of|by|x)`, "otherwise, in a sentence of its own"},
	{`(?:errors?|messages?) of JSON-RPC`, "JSON-RPC error"},
	{`what share`, "the share, or how many"},
	{`(?:is|are) (?:that|those) of`, "repeat the noun"},
	{`(?:calls|results) of tools|tests of agents|schedules of tests|secrets of webhooks`, "tool calls, agent tests"},
	{`^\w+ says (?:whether|that|how many)`, "is set if, reports whether, or is the number of"},
}

// unclear maps unclear names in Go to better ones.
var unclear = map[string]string{
	"begun": "started", "told": "what was reported, or to whom", "came": "outcome, or added", "whose": "owner",
}

// generated matches files that nobody writes by hand, and samples of files from other programs and people.
var generated = regexp.MustCompile(`^(graph/|model/models_gen\.go|bin/)` +
	`|^docs/\.vitepress/(cache|\.temp)/|^cmd/agentgraph/demo/merrowby/` +
	`|(^|/)(node_modules|dist|testdata|\.git)(/|$)|\.config\.ts$`)

// spoken lists packages whose string literals are phrases of conversations and documents.
var spoken = regexp.MustCompile(`^(engine/(llm|rules|read|knowledge|content|evaluation)|lab|cmd/agentgraph/(demo|apply))/`)

// stored lists texts in rows that the program compares, and instructions of models that tests depend on.
var stored = regexp.MustCompile(`^"the call was begun, and what came of it is not known"$|^"Ends the conversation for good, `)

// passage is a text that people read, and the line where it begins.
type passage struct {
	line int
	text string
	// isLabel is set if the text is not prose, but a message, a label or a line of code with a label.
	isLabel bool
	// name is an unclear name that a Go file uses here. Then the text is empty.
	name string
	// misnames is the first word of a doc comment that should be the name of what it describes. Then the text is empty.
	misnames string
}

// TestProseHasNoHabits finds habits and long sentences in comments, documents, schema descriptions, messages and the
// console's labels.
func TestProseHasNoHabits(t *testing.T) {
	t.Parallel()
	var phrases []*regexp.Regexp
	for _, habit := range habits {
		phrase := strings.ReplaceAll(habit.phrase, " ", `\s+`) // a phrase may continue on the next line
		phrases = append(phrases, regexp.MustCompile(`(?i)\b(?:`+phrase+`)\b`))
	}
	read := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case generated.MatchString(path) && entry.IsDir():
			return filepath.SkipDir
		case generated.MatchString(path) || entry.IsDir() || path == "prose_test.go":
			return nil
		}
		passages, err := passagesOf(path)
		read += len(passages)
		for _, p := range passages {
			p.text = codeSpan.ReplaceAllString(p.text, "x")
			for i, phrase := range phrases {
				if found := phrase.FindStringIndex(p.text); found != nil {
					t.Errorf("%s:%d: %q: %s", path, p.line+strings.Count(p.text[:found[0]], "\n"), p.text[found[0]:found[1]],
						habits[i].advice)
				}
			}
			for _, sentence := range longSentences(p) {
				t.Errorf("%s:%d: more than %d words: %s", path, p.line, maxWords, sentence)
			}
			if advice := unclear[p.name]; advice != "" {
				t.Errorf("%s:%d: the name %s: %s", path, p.line, p.name, advice)
			}
			if p.misnames != "" {
				t.Errorf("%s:%d: the comment describes %s, which is not declared here", path, p.line, p.misnames)
			}
		}
		return err
	}))
	require.Greater(t, read, 10_000)
}

// passagesOf returns the passages of a file.
func passagesOf(path string) ([]passage, error) {
	read := map[string]func(string, []byte) ([]passage, error){
		".go": ofGo, ".md": ofMarkdown, ".graphqls": ofSchema, ".ts": ofLines, ".tsx": ofLines, ".json": ofDescriptions,
	}[filepath.Ext(path)]
	if read == nil {
		return nil, nil
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return read(path, source)
}

// ofGo returns comments, unclear names, and string literals with a space in them.
func ofGo(path string, source []byte) (all []passage, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		if strings.HasPrefix(group.Text(), "Output:") {
			continue
		}
		for _, paragraph := range strings.Split(group.Text(), "\n\n") {
			all = append(all, passage{line: files.Position(group.Pos()).Line, text: paragraph})
		}
	}
	all = append(all, misnamed(files, file)...)
	if strings.HasSuffix(path, "_test.go") {
		return all, nil
	}
	hasMessages := !spoken.MatchString(path)
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			if hasMessages && node.Kind == token.STRING && strings.Contains(node.Value, " ") && !stored.MatchString(node.Value) {
				all = append(all, passage{line: files.Position(node.Pos()).Line, text: node.Value, isLabel: true})
			}
		case *ast.Ident:
			if unclear[node.Name] != "" {
				all = append(all, passage{line: files.Position(node.Pos()).Line, name: node.Name})
			}
		}
		return true
	})
	return all, nil
}

// subject is the name that a doc comment begins with. Comments of tests begin like other sentences.
var (
	subject      = regexp.MustCompile(`^[a-z][A-Za-z0-9]*\b`)
	testFunction = regexp.MustCompile(`^(Test|Benchmark|Fuzz)`)
)

// misnamed returns doc comments that begin with another name than that of their declaration.
func misnamed(files *token.FileSet, file *ast.File) (all []passage) {
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		name := subject.FindString(doc.Text())
		isOwn := slices.ContainsFunc(names, func(own *ast.Ident) bool { return own.Name == name })
		if name != "" && !isOwn {
			all = append(all, passage{line: files.Position(doc.Pos()).Line, misnames: name})
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if !testFunction.MatchString(d.Name.Name) {
				check(d.Doc, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				doc := d.Doc
				if d.Lparen.IsValid() {
					doc = nil
				}
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					check(cmp.Or(spec.Doc, doc), spec.Name)
				case *ast.ValueSpec:
					check(cmp.Or(spec.Doc, doc), spec.Names...)
				}
			}
		}
	}
	return all
}

var (
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```$|<!--.*?-->|^    [^\n]*$")
	codeSpan    = regexp.MustCompile("`[^`\n]*`|\\]\\([^)]*\\)")
	lineBreaks  = regexp.MustCompile(`[^\n]`)
	description = regexp.MustCompile(`(?s)"""(.*?)"""|"((?:[^"\\\n]|\\.)+)"`)
	newBlock    = regexp.MustCompile(`^\s*([-*|#>]|\d+\.|$)`)
	sentenceEnd = regexp.MustCompile(`[.!?:;]["')*_]*(\s|$)`)
	word        = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’_-]*`)
)

// ofMarkdown returns paragraphs, list items and rows of tables.
func ofMarkdown(_ string, source []byte) ([]passage, error) {
	text := codeBlock.ReplaceAllStringFunc(string(source), func(block string) string {
		return lineBreaks.ReplaceAllString(block, "")
	})
	return blocksOf(text, 1), nil
}

// blocksOf splits a text into blocks. A block begins with an empty line, or with the mark of an item, a heading or a
// row.
func blocksOf(text string, first int) (all []passage) {
	for i, line := range strings.Split(text, "\n") {
		if len(all) == 0 || newBlock.MatchString(line) {
			all = append(all, passage{line: first + i})
		}
		last := &all[len(all)-1]
		last.text += line + "\n"
	}
	return all
}

// ofSchema returns descriptions.
func ofSchema(_ string, source []byte) (all []passage, err error) {
	text := string(source)
	for _, at := range description.FindAllStringSubmatchIndex(text, -1) {
		from, to := max(at[2], at[4]), max(at[3], at[5])
		all = append(all, blocksOf(text[from:to], 1+strings.Count(text[:from], "\n"))...)
	}
	return all, nil
}

// ofLines returns all lines, because labels are mixed with code.
func ofLines(_ string, source []byte) (all []passage, err error) {
	for i, line := range strings.Split(string(source), "\n") {
		all = append(all, passage{line: i + 1, text: line, isLabel: true})
	}
	return all, nil
}

// ofDescriptions returns the descriptions of a JSON Schema.
func ofDescriptions(path string, source []byte) ([]passage, error) {
	if !strings.HasSuffix(path, ".schema.json") {
		return nil, nil
	}
	return ofLines(path, source)
}

// longSentences returns the first words of sentences with too many words. Each cell of a table's row is a separate
// sentence.
func longSentences(p passage) (all []string) {
	if p.isLabel {
		return nil
	}
	for _, cell := range strings.Split(p.text, "|") {
		for _, sentence := range sentenceEnd.Split(cell, -1) {
			if words := word.FindAllString(sentence, -1); len(words) > maxWords {
				all = append(all, fmt.Sprint(strings.Join(words[:8], " "), " …"))
			}
		}
	}
	return all
}
