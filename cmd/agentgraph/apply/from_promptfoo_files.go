package apply

import (
	"encoding/csv"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// promptfooPrompt is a prompt. Its text is a template.
type promptfooPrompt struct {
	text string
	at   position
}

// readPrompts reads the prompts of a configuration. The importer uses the first one as the contact's message.
func (p *promptfoo) readPrompts(value any, at position) {
	switch v := value.(type) {
	case string:
		p.readPrompt(v, at)
	case list:
		for i, one := range v {
			p.readPrompts(one, at.index(i))
		}
	case object:
		for _, name := range []string{"raw", "id"} {
			if text := v.text(name); text != "" {
				p.reportUnknown("a prompt", v, at, "raw", "id", "label", "description")
				p.readPrompt(text, at)
				return
			}
		}
		for _, m := range v { // a file and its label
			p.readPrompt(m.name, at.member(m.name))
		}
	}
	if at.path == "/prompts" && len(p.prompts) > 1 {
		p.report.addNote(approximated, at, "the configuration", "prompts: only the first of %d is used", len(p.prompts))
	}
}

var promptFiles = regexp.MustCompile(
	`^[^\s{}]+\.(txt|md|json|jsonl|ya?ml|j2|csv|prompty|js|cjs|mjs|ts|mts|cts|py|rb|sh)(:[\w.]+)?$`)

func (p *promptfoo) readPrompt(text string, at position) {
	leave := func(format string, args ...any) { p.report.addNote(leftOut, at, "a prompt", format, args...) }
	switch {
	case strings.HasPrefix(text, "exec:"):
		leave("%s is code, which agentgraph does not run", text)
		return
	case !strings.HasPrefix(text, "file://") && (strings.Contains(text, "\n") || !promptFiles.MatchString(text)):
		if unread := unreadableReason(text); strings.Contains(text, "://") && !strings.ContainsAny(text, " \n") {
			leave("%s %s", text, unread)
			return
		}
		p.prompts = append(p.prompts, promptfooPrompt{text, at})
		return
	}
	file, content, problem := p.file(text)
	if problem != "" {
		leave("%s", problem)
		return
	}
	at = position{&sourceLines{file, map[string]int{}}, ""}
	before := len(p.prompts)
	lines := strings.ReplaceAll(string(content), "\r\n", "\n")
	for _, part := range promptsIn(strings.ToLower(filepath.Ext(file)), lines) {
		if part = strings.TrimSpace(part); part != "" {
			p.prompts = append(p.prompts, promptfooPrompt{part, at})
		}
	}
	if len(p.prompts) == before {
		leave("%s contains no prompt", text)
	}
}

var promptSeparator = regexp.MustCompile(`(?m)^[ \t]*---[ \t]*$`)

// promptsIn returns the prompts of a file. The extension determines how they are separated.
func promptsIn(ending, content string) []string {
	switch ending {
	case ".csv":
		return promptsOfTable(content)
	case ".jsonl":
		return strings.Split(content, "\n")
	case ".json", ".md", ".j2":
		return []string{content}
	case ".yaml", ".yml":
		if value, err := decoded([]byte(content)); err == nil {
			if messages, isList := value.(list); isList && areMessages(messages) {
				return []string{asText(messages)}
			}
		}
	}
	return promptSeparator.Split(content, -1)
}

// promptsOfTable returns the column "prompt" of a table. If the file has no commas or is no table, each line is a
// prompt, except a first line "prompt".
func promptsOfTable(content string) (prompts []string) {
	reader := csv.NewReader(strings.NewReader(content))
	reader.FieldsPerRecord, reader.LazyQuotes, reader.TrimLeadingSpace = -1, true, true
	table, err := reader.ReadAll()
	if !strings.Contains(content, ",") || err != nil {
		prompts = strings.Split(strings.TrimSpace(content), "\n")
		if strings.EqualFold(strings.TrimSpace(prompts[0]), "prompt") {
			prompts = prompts[1:]
		}
		return prompts
	}
	column := slices.IndexFunc(table[0], func(name string) bool { return strings.TrimSpace(name) == "prompt" })
	for _, cells := range table[1:] {
		if column >= 0 && column < len(cells) {
			prompts = append(prompts, cells[column])
		}
	}
	return prompts
}
