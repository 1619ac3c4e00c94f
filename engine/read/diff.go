package read

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is a sentence of a text, with the white space after it. A heading and an item of a list are sentences too.
type Sentence struct {
	Text string
	// At is where it begins, in bytes.
	At int
	// Section is the heading above it, without its mark.
	Section string
	// BeginsLine is set if it is the first of its line.
	BeginsLine bool
}

// SentenceChange is a sentence that differs between two texts. An added one has no Before, and a removed one no After.
type SentenceChange struct {
	Before, After *Sentence
	// At is where After begins or, if there is none, where Before would be in the second text, in bytes. It is also where
	// Before would be if IsMoved is set: then both are the same sentence at different places.
	At      int
	IsMoved bool
}

// SplitSentences splits a text into its sentences. Joined, they are the text.
func SplitSentences(text string) []Sentence {
	var sentences []Sentence
	section, at, isLineStart := "", 0, true
	for at < len(text) {
		end := sentenceEndIn(text, at)
		s := Sentence{Text: text[at:end], At: at, Section: section, BeginsLine: isLineStart}
		if strings.TrimSpace(s.Text) != "" || len(sentences) == 0 {
			sentences = append(sentences, s)
		} else {
			sentences[len(sentences)-1].Text += s.Text
		}
		if line := strings.TrimSpace(s.Text); isLineStart && strings.HasPrefix(line, "#") {
			section, _ = CutListMark(line)
		}
		at, isLineStart = end, strings.HasSuffix(s.Text, "\n")
	}
	return sentences
}

// sentenceEndIn returns the end of the sentence that begins at a position, after the white space that follows it. An
// end mark before white space ends a sentence. It does not if the next word begins with a lower-case letter, or if the
// mark belongs to the number of an item. End marks of other scripts, such as 。 and ؟, need no white space after them,
// unless a quotation ends there.
func sentenceEndIn(text string, from int) int {
	begin := from + len(text[from:]) - len(strings.TrimLeft(text[from:], " \t"))
	begin += len(listMark().FindString(lineAt(text, begin)))
	for at := begin; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		if at += width; r == '\n' {
			return afterBlank(text, at-width, "\n")
		}
		if !unicode.Is(unicode.Sentence_Terminal, r) {
			continue
		}
		end := len(text) - len(strings.TrimLeft(text[at:], "\"”»)」』）"))
		next := afterBlank(text, end, "")
		first, _ := utf8.DecodeRuneInString(text[next:])
		isEnd := next > end && !unicode.IsLower(first) ||
			end == at && r > unicode.MaxASCII && r != '．' && !unicode.Is(unicode.Sentence_Terminal, first)
		if isEnd && next < len(text) && first != '\n' {
			return next
		}
	}
	return len(text)
}

func lineAt(text string, at int) string {
	line, _, _ := strings.Cut(text[at:], "\n")
	return line
}

// afterBlank returns the end of the blanks at a position. With line ends, it returns the end of the blank lines there.
func afterBlank(text string, at int, lineEnds string) int {
	rest := strings.TrimLeft(text[at:], " \t\r"+lineEnds)
	end := len(text) - len(rest)
	if lineEnds != "" && rest != "" {
		return strings.LastIndex(text[:end], "\n") + 1 // the indentation belongs to the next sentence
	}
	return end
}

// CompareSentences returns the sentences that differ between two texts, in their order. White space does not count. A
// removed and an added sentence at the same place are one change if they share half of their words, or if nothing else
// changed there. A sentence that was moved is one change as well.
func CompareSentences(before, after string) []SentenceChange {
	one, other := SplitSentences(before), SplitSentences(after)
	ones, others := keysOf(one), keysOf(other)
	matches := longestCommon(len(one), len(other), func(i, j int) bool { return ones[i] == others[j] })
	var changes []SentenceChange
	i, j := 0, 0
	for _, m := range append(matches, [2]int{len(one), len(other)}) {
		end := len(after)
		if m[1] < len(other) {
			end = other[m[1]].At
		}
		changes = append(changes, pairSentences(one[i:m[0]], other[j:m[1]], end)...)
		i, j = m[0]+1, m[1]+1
	}
	return joinMoved(changes)
}

// joinMoved makes one change of a removed and an added sentence with the same text.
func joinMoved(changes []SentenceChange) []SentenceChange {
	added := map[string][]*Sentence{}
	for _, c := range changes {
		if c.Before == nil {
			added[keyOf(c.After)] = append(added[keyOf(c.After)], c.After)
		}
	}
	isJoined := map[*Sentence]bool{}
	for i, c := range changes {
		if c.After != nil {
			continue
		}
		if places := added[keyOf(c.Before)]; len(places) > 0 {
			changes[i].After, changes[i].IsMoved, isJoined[places[0]] = places[0], true, true
			added[keyOf(c.Before)] = places[1:]
		}
	}
	return slices.DeleteFunc(changes, func(c SentenceChange) bool { return c.Before == nil && isJoined[c.After] })
}

func keysOf(sentences []Sentence) []string {
	keys := make([]string, len(sentences))
	for i, s := range sentences {
		keys[i] = keyOf(&s)
	}
	return keys
}

func keyOf(s *Sentence) string { return strings.Join(strings.Fields(s.Text), " ") }

// maxPaired bounds the pairs of sentences that pairSentences compares.
const maxPaired = 40_000

// pairSentences pairs similar sentences, in order. Those between two pairs are paired as well if they replace each
// other one by one. Other sentences stay alone. If there are too many sentences, all of them stay alone. end is where
// the added sentences end in their text.
func pairSentences(gone, come []Sentence, end int) (changes []SentenceChange) {
	i, j := 0, 0
	addTo := func(lastGone, lastCome int) {
		arePairs := replaceEachOther(gone[i:lastGone], come[j:lastCome])
		for ; i < lastGone; i++ {
			c := SentenceChange{Before: &gone[i], At: end}
			if j < len(come) {
				c.At = come[j].At
			}
			if arePairs {
				c.After = &come[j]
				j++
			}
			changes = append(changes, c)
		}
		for ; j < lastCome; j++ {
			changes = append(changes, SentenceChange{After: &come[j], At: come[j].At})
		}
	}
	for at := 0; at < len(gone) && len(gone)*len(come) <= maxPaired; at++ {
		found := j
		for found < len(come) && !IsSimilar(gone[at].Text, come[found].Text) {
			found++
		}
		if found < len(come) {
			addTo(at, found)
			changes = append(changes, SentenceChange{Before: &gone[at], After: &come[found], At: come[found].At})
			i, j = at+1, found+1
		}
	}
	addTo(len(gone), len(come))
	return changes
}

// replaceEachOther reports whether as many sentences of the same kinds are in the place of others.
func replaceEachOther(gone, come []Sentence) bool {
	return len(gone)*len(come) <= maxPaired && slices.EqualFunc(gone, come, func(a, b Sentence) bool {
		return a.BeginsLine == b.BeginsLine && strings.HasPrefix(a.Text, "#") == strings.HasPrefix(b.Text, "#")
	})
}

// IsSimilar reports whether two sentences share at least half of the words of the longer one.
func IsSimilar(one, other string) bool {
	first, second := Words(one), Words(other)
	counts, shared := map[string]int{}, 0
	for _, word := range second {
		counts[word]++
	}
	for _, word := range first {
		if counts[word] > 0 {
			counts[word]--
			shared++
		}
	}
	return shared > 0 && 2*shared >= max(len(first), len(second))
}

// Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// CompareWords compares two similar sentences word by word. It returns the parts that are only in the first, and the
// parts that are only in the second.
func CompareWords(before, after string) (gone, come []Span) {
	one, other := wordSpans(before), wordSpans(after)
	matches := longestCommon(len(one), len(other), func(i, j int) bool {
		return before[one[i].Start:one[i].End] == after[other[j].Start:other[j].End]
	})
	i, j := 0, 0
	for _, m := range append(matches, [2]int{len(one), len(other)}) {
		if i < m[0] {
			gone = append(gone, Span{one[i].Start, one[m[0]-1].End})
		}
		if j < m[1] {
			come = append(come, Span{other[j].Start, other[m[1]-1].End})
		}
		i, j = m[0]+1, m[1]+1
	}
	return gone, come
}

// FindWords returns the parts of a text that are forms of one of the folded words.
func FindWords(text string, words []string) (found []Span) {
	for _, span := range wordSpans(text) {
		if ContainsForm(words, Fold(text[span.Start:span.End])) {
			found = append(found, span)
		}
	}
	return found
}

// wordSpans returns the words of a text, and each other character that is not white space.
func wordSpans(text string) (spans []Span) {
	isInWord := false
	for at, r := range text {
		isWordNow := isWord(r)
		if isWordNow && isInWord {
			spans[len(spans)-1].End = at + utf8.RuneLen(r)
		} else if !isSpace(r) {
			spans = append(spans, Span{at, at + utf8.RuneLen(r)})
		}
		isInWord = isWordNow
	}
	return spans
}

// maxCompared bounds the pairs that longestCommon compares.
const maxCompared = 4_000_000

// longestCommon returns the pairs of a longest common subsequence of two lists, by their indexes. If the lists are too
// long to compare, it only returns the pairs at the beginning and at the end.
func longestCommon(n, m int, same func(i, j int) bool) (pairs [][2]int) {
	from, last := 0, 0
	for from < min(n, m) && same(from, from) {
		pairs = append(pairs, [2]int{from, from})
		from++
	}
	for last < min(n, m)-from && same(n-1-last, m-1-last) {
		last++
	}
	rows, columns := n-last-from, m-last-from
	if rows*columns <= maxCompared {
		pairs = append(pairs, commonBetween(rows, columns, from, same)...)
	}
	for ; last > 0; last-- {
		pairs = append(pairs, [2]int{n - last, m - last})
	}
	return pairs
}

// commonBetween returns the pairs of a longest common subsequence of two parts of the lists. Both parts begin at the
// index from, and have as many items as rows and columns say. commonBetween compares every pair.
func commonBetween(rows, columns, from int, same func(i, j int) bool) (pairs [][2]int) {
	// lengths[i][j] is the length of a longest common subsequence of the lists from i and from j on.
	lengths := make([][]uint16, rows+1)
	for i := range lengths {
		lengths[i] = make([]uint16, columns+1)
	}
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if same(from+i, from+j) {
				lengths[i][j] = lengths[i+1][j+1] + 1
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case same(from+i, from+j):
			pairs = append(pairs, [2]int{from + i, from + j})
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
