package read

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

const (
	// maxLeftOut bounds the words that an ellipsis in a quote may leave out.
	maxLeftOut = 40
	// maxWordsCompared bounds the comparisons of words for one quote. Texts that repeat themselves may need more; then the
	// quote is not found.
	maxWordsCompared = 2_000_000
	// deniedBefore and deniedAfter are how many words before and after a quote, in the same clause, are checked for a
	// denial.
	deniedBefore, deniedAfter = 8, 2
)

// ellipsis matches a mark for words that are left out.
var ellipsis = lazyregexp.New(`[\[(]?(?:…|\.\.\.)[\])]?`)

// lexeme is a word, a number or a symbol of a folded text.
type lexeme struct {
	text       string
	start, end int
	// isItem is set for the number of an item of a list, which a quote may leave out.
	isItem bool
	// isJoined is set if a hyphen joins the lexeme to the one before, and isElided if the lexeme is an elided article.
	// beginsClause is set if punctuation or a line end precedes the lexeme.
	isJoined, isElided, beginsClause bool
}

// cited is a text, as lexemes, in which a quote is sought.
type cited struct {
	*plainText
	Passage
	lexemes []lexeme
	// compared counts the comparisons of words.
	compared int
}

// Cite returns the part of a text that a quote repeats, or "". It compares words, numbers and symbols. Markup,
// punctuation, emoji, and the numbers of lists may differ. A quote must not leave out a negation next to it, a symbol,
// a unit, or a part of a word. A single letter must end its clause. An ellipsis in it may leave out words that do not
// change the meaning.
func Cite(source, quote string) string { return lexemesOf(source).cite(quote) }

func (c *cited) cite(quote string) string {
	asked := lexemesOf(quote)
	isLetter := !hasWord(asked.Text)
	if len(asked.lexemes) == 0 || isLetter && (len(asked.lexemes) > 1 || !strings.ContainsFunc(asked.Text, isWord)) {
		return ""
	}
	first, last := asked.lexemes[0], asked.lexemes[len(asked.lexemes)-1]
	wanted := Quote{head: asked.source[:asked.Passage.starts[first.start]],
		tail: asked.source[asked.Passage.ends[last.end-1]:]}
	for from := 0; from < len(c.lexemes) && c.compared <= maxWordsCompared; from++ {
		if to := c.match(from, asked.lexemes); to > 0 && !c.changesMeaning(from, to) &&
			(!isLetter || c.isAnswer(from)) {
			return c.origin(wanted, from, to)
		}
	}
	return c.citeParts(wanted, quote)
}

// citeParts finds the parts of a quote with an ellipsis, in order.
func (c *cited) citeParts(wanted Quote, quote string) string {
	var parts [][]lexeme
	for _, part := range ellipsis().Split(quote, -1) {
		if words := lexemesOf(part).lexemes; len(words) > 1 {
			parts = append(parts, words)
		} else if len(words) == 1 {
			return "" // one word says too little
		}
	}
	if len(parts) < 2 {
		return ""
	}
	for first := 0; first < len(c.lexemes) && c.compared <= maxWordsCompared; first++ {
		to := c.match(first, parts[0])
		for _, part := range parts[1:] {
			if to == 0 {
				break
			}
			next := 0
			for from := to; from < min(len(c.lexemes), to+maxLeftOut) && next == 0; from++ {
				if end := c.match(from, part); end > 0 && !slices.ContainsFunc(c.lexemes[to:from], isModifier) {
					next = end
				}
			}
			to = next
		}
		if to > 0 && !c.changesMeaning(first, to) {
			return c.origin(wanted, first, to)
		}
	}
	return ""
}

// match compares the lexemes from a position on with the wanted ones. It returns the position after the last equal
// lexeme, or 0 if they differ. Both sides may have numbers of list items that the other side lacks.
func (c *cited) match(from int, wanted []lexeme) int {
	if c.lexemes[from].isItem && c.lexemes[from].text != wanted[0].text {
		return 0
	}
	at := from
	for i := 0; i < len(wanted); at++ {
		c.compared++
		switch {
		case at == len(c.lexemes) || c.compared > maxWordsCompared:
			return 0
		case c.lexemes[at].text == wanted[i].text:
			i++
		case wanted[i].isItem:
			i, at = i+1, at-1
		case !c.lexemes[at].isItem:
			return 0
		}
	}
	if at <= from {
		return 0 // wanted has only numbers of items
	}
	return at
}

// isAnswer reports whether a letter ends its clause, as in "option B". Other letters are words like "I", which say too
// little.
func (c *cited) isAnswer(at int) bool {
	return (at+1 == len(c.lexemes) || c.lexemes[at+1].beginsClause) && (at == 0 || !c.lexemes[at-1].isElided)
}

// changesMeaning reports whether a quote of the lexemes from one position to another leaves out something that belongs
// to them, such as a negation or a unit.
func (c *cited) changesMeaning(from, to int) bool {
	if c.lexemes[from].isJoined || to < len(c.lexemes) && c.lexemes[to].isJoined || c.lexemes[to-1].isElided {
		return true
	}
	first, last := c.lexemes[from].text, c.lexemes[to-1].text
	if from > 0 && !c.lexemes[from].beginsClause {
		previous := c.lexemes[from-1].text
		if isNumeric(first) && approximate[previous] || isSymbol(previous) && previous != "&" && previous != "%" {
			return true
		}
	}
	if to < len(c.lexemes) && !c.lexemes[to].beginsClause {
		if next := c.lexemes[to].text; isNumeric(last) && (isSymbol(next) || units[next] || isUnspacedWord(next)) {
			return true
		}
	}
	before, after := deniedBefore, deniedAfter
	if to == from+1 { // one word states nothing that a word further away could deny
		before, after = 1, 1
	}
	for at := from; at > max(0, from-before) && !c.lexemes[at].beginsClause; at-- {
		if denies(c.lexemes[at-1].text) {
			return true
		}
	}
	for at := to; at < min(len(c.lexemes), to+after) && !c.lexemes[at].beginsClause; at++ {
		if denies(c.lexemes[at].text) {
			return true
		}
	}
	return c.deniedInJapanese(to)
}

// deniedInJapanese reports whether the clause continues with an ending that denies.
func (c *cited) deniedInJapanese(to int) bool {
	rest := ""
	for at := to; at < min(len(c.lexemes), to+8) && !c.lexemes[at].beginsClause; at++ {
		rest += c.lexemes[at].text
	}
	return slices.ContainsFunc([]string{"ない", "ません", "なく", "なかった"},
		func(ending string) bool { return strings.Contains(rest, ending) })
}

// origin returns the part of the source that the lexemes come from. It adds the punctuation around this part if the
// quote has the same punctuation.
func (c *cited) origin(quote Quote, from, to int) string {
	start, end := c.extend(quote, c.Passage.starts[c.lexemes[from].start], c.Passage.ends[c.lexemes[to-1].end-1])
	return strings.TrimFunc(c.original[c.plainText.starts[start]:c.plainText.ends[end-1]], isSpace)
}

func lexemesOf(source string) *cited {
	c := &cited{plainText: plain(source)}
	c.Passage = NewPassage(c.text.String(), false)
	text := c.Text
	last := 0
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		size := 0
		switch {
		case isWord(r):
			size = wordLength(text[at:])
		case r == minusSign, isSymbol(string(r)) && r != '-', r == '-' && betweenDigits(text, at):
			size = width
		}
		if size == 0 {
			at += width
			continue
		}
		c.addLexeme(last, at, at+size)
		at += size
		last = at
	}
	return c
}

// addLexeme adds the lexeme of the folded text from start to end. The lexeme before it ends at the position last.
func (c *cited) addLexeme(last, start, end int) {
	folded := c.Text
	between := folded[last:start]
	gap := ""
	if len(c.lexemes) > 0 {
		from := c.Passage.ends[last-1]
		gap = c.source[from:max(from, c.Passage.starts[start])]
	}
	l := lexeme{
		text: strings.ReplaceAll(folded[start:end], " ", ""), start: start, end: end,
		isItem: c.items[c.Passage.starts[start]],
		beginsClause: len(c.lexemes) == 0 || strings.ContainsAny(between, ".,;:!?()。，、；：！？") ||
			strings.ContainsAny(gap, "\n…–—") || strings.Contains(gap, " - "),
		isJoined: len(c.lexemes) > 0 && len(gap) > 0 && strings.Trim(gap, hyphens) == "",
	}
	l.isElided = strings.HasSuffix(l.text, "'")
	c.lexemes = append(c.lexemes, l)
}

// wordLength returns the length of the word or number at the start of a folded text. An elided article is a word.
func wordLength(text string) int {
	first, width := utf8.DecodeRuneInString(text)
	if isUnspaced(first) {
		return width
	}
	at := width
	for at < len(text) {
		if isGroup(text, at) { // "1 234"
			at += 4
			continue
		}
		r, width := utf8.DecodeRuneInString(text[at:])
		next, _ := utf8.DecodeRuneInString(text[at+width:])
		last, _ := utf8.DecodeLastRuneInString(text[:at])
		isApostrophe := r == '\'' && unicode.IsLetter(last) && unicode.IsLetter(next)
		if isApostrophe && utf8.RuneCountInString(text[:at]) <= 2 {
			return at + width // an elided article
		}
		isInner := isApostrophe ||
			strings.ContainsRune(inNumbers, r) && unicode.IsNumber(last) && unicode.IsNumber(next) || r == '_'
		if isUnspaced(r) || !isWord(r) && !isInner {
			break
		}
		at += width
	}
	return at
}

// isGroup reports whether a blank and three digits continue a number that has one to three digits or consists of such
// groups.
func isGroup(text string, at int) bool {
	isFigure := func(b byte) bool { return '0' <= b && b <= '9' }
	if len(text) < at+4 || text[at] != ' ' || !isFigure(text[at+1]) || !isFigure(text[at+2]) || !isFigure(text[at+3]) ||
		len(text) > at+4 && isFigure(text[at+4]) {
		return false
	}
	head, _, _ := strings.Cut(text[:at], " ")
	return len(head) <= 3 && strings.Trim(text[:at], "0123456789 ") == ""
}

func betweenDigits(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+1:])
	return unicode.IsNumber(before) && unicode.IsNumber(after)
}

// isSymbol reports whether a text is a symbol with a meaning, such as the sign of a currency, a unit or a relation.
func isSymbol(text string) bool {
	r, width := utf8.DecodeRuneInString(text)
	return width == len(text) &&
		(unicode.Is(unicode.Sc, r) || strings.ContainsRune("%‰°≈±+<>≤≥&§@#-", r) || r == minusSign)
}

func isNumeric(text string) bool {
	return text != "" && strings.Trim(text, "0123456789"+inNumbers) == ""
}

func isUnspacedWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isUnspaced(r)
}

func denies(word string) bool { return negations[word] || strings.HasSuffix(word, "n't") }

// isModifier reports whether leaving out a word changes the meaning of a quote.
func isModifier(l lexeme) bool { return denies(l.text) || approximate[l.text] || conditions[l.text] }

// folded returns the set of words in a text, as the words of a Passage are written.
func folded(words string) map[string]bool { return Set(foldCase(words)) }

var (
	negations = folded(`
		not no never cannot none nothing nobody neither nor without hardly ne n' pas jamais aucun aucune rien sans
		ni guère non nicht nie niemals kein keine keinen keinem keiner keines nichts ohne weder nunca jamás ningún ninguna
		ninguno nada sin tampoco mai nessun nessuno nessuna niente nulla senza né niet geen nooit zonder não nenhum
		nenhuma sem nem nie nigdy bez żaden żadnego nelze není nejsou nikdy inte ej ikke aldri aldrig ingen inget inga uten
		utan uden не нет ни нельзя никогда без ні немає değil yok hayır asla لا لن لم ليس ليست غير بدون دون 안 못 ei
		emme ette eivät älä nem nincs δεν όχι לא नहीं không tidak bukan 不 没 未 无 無 別 别 勿 非`)
	approximate = folded(`
		about around approximately roughly nearly almost circa ca environ presque rund etwa ungefähr gut knapp
		unos unas aproximadamente casi cerca quasi ongeveer bijna ok około prawie cirka ungefär omtrent около примерно
		yaklaşık 约 約 than least most`)
	conditions = folded(`
		unless except only if but sauf seulement si mais außer nur wenn falls aber salvo solo sólo pero tranne se
		ma alleen als maar exceto apenas mas chyba tylko jeśli ale`)
	units = folded(`
		percent pct euro euros eur usd gbp chf dollar dollars pound pounds cents kr kronor kroner zł zl pln kč czk lei
		ft rub руб tl lira yen yuan h hr hrs hour hours hora horas heure heures ore stunde stunden uhr uur godz min mins
		minute minutes minuten minuti minutos minut minuter day days jour jours tag tage tagen días día giorno giorni dag
		dagen dia dias dni dagar дня дней день week weeks semaine semaines woche wochen semana semanas settimana settimane
		weken week month months mois monat monate monaten mes meses mese mesi maand maanden year years an ans jahr jahre
		jahren año años anno anni jaar ano anos lat km m cm mm mi miles kg g lb lbs l ml bar psi kw kwh gb mb tb am pm a.m p.m
		million millions billion thousand mille millionen millones points punkte pts`)
)
