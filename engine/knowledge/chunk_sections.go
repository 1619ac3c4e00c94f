package knowledge

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

const maxHeading = 120

type rule struct {
	label func() *regexp.Regexp
	// level is the heading's rank among the rules of its method.
	level int
	// isNumber is set if the label is a number, such as 2 or 2.1. leads is set if a sentence may follow the label on its
	// line.
	isNumber, leads bool
}

// ordinal and numeral match the numbers of parts and chapters: words, digits, Roman numerals or a single letter.
const (
	ordinal = `(?:first|second|third|fourth|fifth|premier|première|deuxième|seconde?|troisième|quatrième|cinquième)`
	numeral = `(?:\d{1,4}|[IVXLC]{1,7}|[A-Z]|(?i:` + ordinal + `|one|two|three|four|five|six|seven|eight|nine|ten|` +
		`une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|préliminaire))`
)

// labelled matches headings such as "Chapter 2", "Titre Ier" and "Première partie".
func labelled(names string, level int) rule {
	return rule{label: lazyregexp.New(`^(?:(?i:` + names + `)\s+` + numeral + `(?:er|ère|e|bis|ter)?|(?i:` + ordinal +
		`\s+(?:` + names +
		`)))(?:$|[\s.:–—-])`), level: level}
}

// numbered matches headings such as "2.1 Setup". More dots mean a deeper level.
func numbered(level int) rule { return rule{label: number, level: level, isNumber: true} }

var (
	number  = lazyregexp.New(`^\d{1,3}(?:\.\d{1,3}){0,4}[.)]?\s+[\p{Lu}«"“]`)
	roman   = rule{label: lazyregexp.New(`^[IVX]{1,5}[.)]\s+\p{Lu}`), level: 1}
	article = rule{label: lazyregexp.New(
		`^(?i:articles?|art\.)\s+(?:[LRD]\.?\s?)?\d+(?:[.-]\d+)*(?:er)?(?:\s(?:bis|ter))?(?:$|[\s.:–—-])`), level: 5,
		leads: true}
	sign  = rule{label: lazyregexp.New(`^§{1,2}\s?\d+[a-z]?(?:$|[\s.:–—-])`), level: 5, leads: true}
	named = rule{label: lazyregexp.New(
		`^(?i:abstract|summary|introduction|background|related work|methods?|methodology|results|discussion|` +
			`conclusions?|acknowledge?ments?|references|bibliography|appendix|résumé|contexte|état de l'art|méthodes?|méthodologie|` +
			`résultats|remerciements|références|bibliographie|annexes?)(?:\s+[A-Z0-9])?$`), level: 1}
	hashes = lazyregexp.New(`^(#{1,6})\s+(.+?)\s*#*$`)
)

// rules match headings by their words, for each method. Headings that the file marks are found without them.
var rules = map[string][]rule{
	"manual": {labelled(`part|partie`, 1), labelled(`chapter|chapitre`, 2), labelled(`section|appendix|annexe`, 3),
		numbered(6)},
	"book": {labelled(`book|livre|volume|tome`, 1), labelled(`part|partie`, 2), labelled(`chapter|chapitre`, 3),
		labelled(`section`, 4), numbered(6)},
	"laws": {labelled(`book|livre|part|partie|title|titre`, 1), labelled(`chapter|chapitre`, 2), labelled(`section`, 3),
		labelled(`subsection|sous-section|paragraphe`, 4), article, sign, numbered(6)},
	"paper": {named, roman, labelled(`section|appendix|annexe`, 1), numbered(1)},
}

type entry struct {
	text string
	// level is the rank of a heading, or 0 for a line.
	level int
	// inline is set if the heading is the label of a longer line, which is also content.
	inline bool
	kind   Kind
}

// sections cuts a text at its headings. Each piece begins with the headings above it, and contains one section only.
func (c *cutter) sections(text Text, method string) string {
	entries := outlineOf(text, rules[method])
	if !c.bySection(entries, c.limit) {
		c.cutAtDelimiters(text.String())
		return "The document has no headings; it was split by the method naive."
	}
	return ""
}

// bySection returns false and cuts nothing if there is no heading.
func (c *cutter) bySection(entries []entry, limit int) bool {
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.level > 0 }) {
		return false
	}
	var path []entry
	var body strings.Builder
	// bare is set while there is no text under the last heading.
	bare := false
	flush := func() {
		switch head := c.head(path, limit); {
		case strings.TrimSpace(body.String()) != "":
			c.cutUnderHeading(head, body.String(), limit)
		case bare:
			c.cutUnderHeading("", head, limit)
		}
		body.Reset()
	}
	for _, e := range entries {
		if e.level > 0 {
			if len(path) == 0 || e.level <= path[len(path)-1].level || strings.TrimSpace(body.String()) != "" {
				flush()
			}
			for len(path) > 0 && path[len(path)-1].level >= e.level {
				path = path[:len(path)-1]
			}
			path = append(path[:len(path):len(path)], e)
			bare = true
			if !e.inline {
				continue
			}
		}
		bare = false
		body.WriteString(e.text + "\n")
	}
	flush()
	return true
}

// head joins a path of headings, the outermost first. It drops outer headings until the head takes at most half a
// piece, or has one heading.
func (c *cutter) head(path []entry, limit int) string {
	var titles []string
	for i, e := range path {
		// If the last heading is an inline label, the text itself begins with the label.
		if !e.inline || i < len(path)-1 {
			titles = append(titles, e.title())
		}
	}
	for len(titles) > 1 && c.count(strings.Join(titles, " > ")) > limit/2 {
		titles = titles[1:]
	}
	return strings.Join(titles, " > ")
}

// title returns the text of a heading, or the label of an inline one.
func (e entry) title() string {
	if !e.inline {
		return strings.Join(strings.Fields(e.text), " ")
	}
	fields := strings.Fields(e.text)
	return strings.TrimRight(strings.Join(fields[:min(2, len(fields))], " "), ".:–—-")
}

// outlineOf returns the lines and headings of a text. Headings that rules match rank below headings that the
// file marks.
func outlineOf(text Text, rules []rule) []entry {
	var entries []entry
	for _, b := range text.Blocks {
		if b.Kind == Heading {
			entries = append(entries, entry{text: b.Text, level: b.Level * 10, kind: Heading})
			continue
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.TrimSpace(line) != "" {
				entries = append(entries, entry{text: line, kind: b.Kind})
			}
		}
	}
	form := 0
	for i := range entries {
		e := &entries[i]
		if found := hashes().FindStringSubmatch(e.text); e.kind == Paragraph && found != nil {
			e.text, e.kind, e.level = found[2], Heading, len(found[1])*10
		}
		switch e.kind {
		case Heading:
			form = e.level
		case Paragraph:
			if level, inline := match(entries, i, rules); level > 0 {
				e.level, e.inline = form+level, inline
			}
		}
	}
	return entries
}

// match returns the rank of a line that is a heading by its words, or 0.
func match(entries []entry, i int, rules []rule) (level int, inline bool) {
	text := strings.TrimSpace(entries[i].text)
	for _, r := range rules {
		label := r.label().FindString(text)
		if label == "" {
			continue
		}
		short := utf8.RuneCountInString(text) <= maxHeading && strings.TrimRight(text, ".;,!") == text
		switch {
		case r.isNumber:
			// Items of a list are numbered too, but follow each other.
			if !short || isListed(entries, i-1, label) || isListed(entries, i+1, label) {
				return 0, false
			}
			return r.level + strings.Count(numberOf(label), "."), false
		case short:
			return r.level, false
		case r.leads:
			// "Article 5. The customer may …" is a heading. A sentence that begins with "Article 5 of" is not.
			rest := strings.TrimSpace(text[len(strings.TrimRight(label, ".:–—- \t")):])
			return r.level, rest == "" || strings.IndexAny(rest, ".:(–—-") == 0
		}
	}
	return 0, false
}

// isListed reports whether a neighboring line has a number of the same depth.
func isListed(entries []entry, i int, label string) bool {
	if i < 0 || i >= len(entries) || entries[i].kind == Heading {
		return false
	}
	other := number().FindString(strings.TrimSpace(entries[i].text))
	return other != "" && strings.Count(numberOf(other), ".") == strings.Count(numberOf(label), ".")
}

// numberOf returns the number at the beginning of a line, without the mark after it.
func numberOf(label string) string {
	end := strings.IndexFunc(label, unicode.IsSpace)
	return strings.TrimRight(label[:max(end, 0)], ".)")
}
