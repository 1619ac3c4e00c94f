package read

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// Ended returns a text with a period, unless it has an end mark or several lines.
func Ended(text string) string {
	text = strings.TrimRight(text, " \n")
	last, _ := utf8.DecodeLastRuneInString(text)
	if text == "" || unicode.Is(unicode.Sentence_Terminal, last) || strings.Contains(text, "\n") {
		return text
	}
	return text + "."
}

// Shorten writes a text in one line. If the text has more characters than the limit, an ellipsis replaces the
// rest.
func Shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > limit {
		text = strings.TrimSpace(string(letters[:limit])) + "…"
	}
	return text
}

// LowerFirst writes the first letter of a text in lower case, unless the first word is an abbreviation.
func LowerFirst(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// sentenceEnd is a period, question mark or exclamation mark before a space, or the end of a line. Chinese and Japanese
// marks need no space.
var sentenceEnd = lazyregexp.New(`([.!?؟۔।])\s+|([。！？｡])\s*|\s*\n+\s*`)

// sentenceGap matches the text between two sentences: the end mark, then a quotation mark, a citation, white space.
var sentenceGap = lazyregexp.New(`^[.!?؟۔।](?:\s?[”"»])?(?:\s\[\d+\])?\s+|^[。！？｡]\s*|^\n\s*`)

const (
	questionMarks = "?？؟"
	endMarks      = ".!۔।。！｡\n" + questionMarks
)

// listMark matches the mark of a heading or an item: "# ", "- ", "* ", "1. ", "2) ".
var listMark = lazyregexp.New(`^(#+|[-*•]|\d+[.)])(\s+|$)`)

// FirstSentence returns a description up to its first period or semicolon.
func FirstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for i, r := range text {
		if r == ';' || r == '.' && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i]
		}
	}
	return text
}

// Sentences splits a text at the ends of its sentences and lines. Unlike SplitSentences, it does so before lower-case
// letters too, because people begin sentences of a chat with them. Parts may be empty.
func Sentences(text string) []string {
	return strings.Split(sentenceEnd().ReplaceAllString(text, "$1$2\n"), "\n")
}

// CutListMark cuts off the mark of a heading or an item: "# ", "- ", "1. ". It reports whether there was one.
func CutListMark(line string) (string, bool) {
	mark := listMark().FindString(line)
	return strings.TrimSpace(line[len(mark):]), mark != ""
}

// LastQuestion returns the last question of a text and the text after it, or "". The question excludes a quotation
// before it.
func LastQuestion(text string) (question, rest string) {
	last := strings.LastIndexAny(text, questionMarks)
	if last < 0 {
		return "", ""
	}
	_, width := utf8.DecodeRuneInString(text[last:])
	start, end := 0, last+width
	for at := strings.LastIndexAny(text[:last], endMarks); at >= 0; at = strings.LastIndexAny(text[:at], endMarks) {
		if gap := sentenceGap().FindString(text[at:end]); gap != "" {
			start = at + len(gap)
			break
		}
	}
	return strings.TrimSpace(text[start:end]), strings.TrimSpace(text[end:])
}
