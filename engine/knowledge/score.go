package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
)

// maxTerm bounds a term, in bytes: Postgres indexes none that is much longer.
const maxTerm = 200

// termsOf are the terms that a text is found by: each of its words, and the word's stems in English and in French.
func termsOf(text string) []string {
	held := map[string]bool{}
	for word := range Terms(text, "") {
		for _, form := range formsOf(word) {
			held[form] = true
		}
	}
	terms := make([]string, 0, len(held))
	for term := range held {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	return terms
}

var inEnglish, inFrench = stemmer("en"), stemmer("fr")

// formsOf are the terms of a folded word. Two words are the same when they share one.
func formsOf(word string) []string {
	if len(word) > maxTerm {
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	forms := []string{word}
	if isStopWord(word) {
		return forms
	}
	for _, stem := range []string{inEnglish(word), inFrench(word)} {
		if stem != "" && !slices.Contains(forms, stem) {
			forms = append(forms, stem)
		}
	}
	return forms
}

// token is a word of a question.
type token struct {
	word string
	// terms are what a chunk holds the token by: any of them.
	terms  []string
	weight float64
	// credit is the part of the weight that a chunk gets for it, 1 unless the terms are only near the word.
	credit float64
	// chunks is about how many hold it.
	chunks int
}

// tokensOf are the words of a question, the weightiest first, at most db.MaxSearchTokens. Of words that are the
// same one remains.
func tokensOf(question string) []token {
	var tokens []token
	for word, weight := range Terms(question, "") {
		tokens = append(tokens, token{word: word, terms: formsOf(word), weight: weight, credit: 1})
	}
	slices.SortFunc(tokens, func(a, b token) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.word, b.word)) })
	seen := map[string]bool{}
	tokens = slices.DeleteFunc(tokens, func(t token) bool {
		again := slices.ContainsFunc(t.terms, func(term string) bool { return seen[term] })
		for _, term := range t.terms {
			seen[term] = true
		}
		return again
	})
	return tokens[:min(len(tokens), db.MaxSearchTokens)]
}

// mayBeMisspelled reports whether another word may stand for the token: a name or a number may not be guessed.
func (t token) mayBeMisspelled() bool {
	return maxDistance(t.word) > 0 && t.weight > stopWeight && !strings.ContainsFunc(t.word, unicode.IsDigit)
}

// maxDistance is how many letters a misspelled word may have wrong.
func maxDistance(word string) int {
	switch letters := utf8.RuneCountInString(word); {
	case letters < 4:
		return 0
	case letters < 8:
		return 1
	}
	return 2
}

// near gives a token that no chunk holds the nearest of the words that chunks do hold, if any is near enough. Its
// credit is the share of its letters that are right.
func (t token) near(known []string) token {
	best := maxDistance(t.word)
	var nearest []string
	for _, word := range known {
		switch d := distance(t.word, word, best); {
		case d > best:
		case d < best:
			best, nearest = d, []string{word}
		default:
			nearest = append(nearest, word)
		}
	}
	if len(nearest) == 0 {
		return t
	}
	t.terms = nil
	for _, word := range nearest {
		t.terms = append(t.terms, formsOf(word)...)
	}
	slices.Sort(t.terms)
	t.terms = slices.Compact(t.terms)
	t.credit = 1 - float64(best)/float64(utf8.RuneCountInString(t.word))
	return t
}

// distance is how many letters must be put in, left out, replaced or swapped with their neighbour to make one word of
// the other; some number above most when that is more than most.
func distance(from, to string, most int) int {
	a, b := []rune(from), []rune(to)
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// termSimilarity is the share of the question's tokens, by weight, that a chunk holds, 0 to 1.
func termSimilarity(tokens []token, holds func(i int) bool) float64 {
	var all, held float64
	for i, t := range tokens {
		all += t.weight
		if holds(i) {
			held += t.weight * t.credit
		}
	}
	if all == 0 {
		return 0
	}
	return min(held/all, 1)
}

// blend is a chunk's score: its two similarities, of which the words' has the weight.
func blend(term, vector, weight float64) float64 { return weight*term + (1-weight)*vector }

// unit is a vector of length 1 in the same direction, so that the product of two is their cosine; nothing for one
// that has no direction.
func unit(vector []float32) []float32 {
	var square float64
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	length := math.Sqrt(square)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return make([]float32, len(vector))
	}
	scaled := make([]float32, len(vector))
	for i, x := range vector {
		scaled[i] = float32(float64(x) / length)
	}
	return scaled
}

// cosine of two unit vectors, no less than 0; 0 when they are not of the same length.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	// Eight sums that do not wait for each other; a and b are cut alike, so that bounds are checked once.
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		a, b = a[8:], b[8:]
	}
	sum := float64(s0+s4) + float64(s1+s5) + float64(s2+s6) + float64(s3+s7)
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return min(max(sum, 0), 1)
}
