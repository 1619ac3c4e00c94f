package knowledge

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// maxHiding bounds the selectors from a book's styles.
const maxHiding = 10_000

// hidingStyles are the selectors of elements that styles hide: names, classes and ids, such as p, .note and #note.
type hidingStyles map[string]bool

var (
	cssComment  = lazyregexp.New(`(?s)/\*.*?\*/`)
	cssRule     = lazyregexp.New(`([^{}]*)\{([^{}]*)\}`)
	cssSelector = lazyregexp.New(`^[A-Za-z][A-Za-z0-9]*$|^[A-Za-z0-9]*[.#][A-Za-z0-9_-]+$`)
)

// addSheet reads a style sheet. It ignores rules for particular media, and selectors with several elements.
func (s hidingStyles) addSheet(sheet string) {
	sheet = withoutMedia(cssComment().ReplaceAllString(sheet, ""))
	for _, rule := range cssRule().FindAllStringSubmatch(sheet, maxHiding) {
		hides := hiddenStyle().MatchString(rule[2])
		for selector := range strings.SplitSeq(rule[1], ",") {
			selector = strings.TrimSpace(selector)
			if cssSelector().MatchString(selector) && (hides || s[selector]) && len(s) < maxHiding {
				s[selector] = hides || s[selector] && !strings.Contains(rule[2], "display")
			}
		}
	}
}

// withoutMedia removes the rules that begin with @ and contain other rules, such as those for printers.
func withoutMedia(sheet string) string {
	var b strings.Builder
	depth, at := 0, -1
	for i := range len(sheet) {
		switch sheet[i] {
		case '@':
			if depth == 0 && at < 0 {
				at = i
			}
		case '{':
			depth++
		case '}':
			depth = max(depth-1, 0)
			if depth == 0 && at >= 0 {
				at = -1
				continue
			}
		case ';':
			if depth == 0 && at >= 0 {
				at = -1
				continue
			}
		}
		if at < 0 {
			b.WriteByte(sheet[i])
		}
	}
	return b.String()
}

func (s hidingStyles) hide(tag html.Token) bool {
	if len(s) == 0 {
		return false
	}
	if s[tag.Data] {
		return true
	}
	for _, a := range tag.Attr {
		switch a.Key {
		case "class":
			for class := range strings.FieldsSeq(a.Val) {
				if s["."+class] || s[tag.Data+"."+class] {
					return true
				}
			}
		case "id":
			if s["#"+a.Val] || s[tag.Data+"#"+a.Val] {
				return true
			}
		}
	}
	return false
}
