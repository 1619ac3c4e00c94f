package knowledge

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// stopLetters is the letter weight of a stop word. It decides between texts that are otherwise equal.
const stopLetters = 0.1

// token is a word of a question.
type token struct {
	// A chunk contains the token if it contains any of Terms. Chunks is the approximate number of such chunks.
	db.Token
	// weight is letters times the rarity of the word. letters is what lettersWeight returns for the word.
	weight, letters float64
	// credit is the share of the weight that a chunk gets. It is below 1 if the terms only resemble the word.
	credit float64
}

// tokensOf returns the distinct words of a question, the highest weights first, at most db.MaxSearchTokens. It weighs
// them for this number of chunks in these languages.
func tokensOf(words []db.Token, languages []string, chunks int) []token {
	var tokens []token
	isFrench := slices.Contains(languages, "fr")
	for _, word := range words {
		word.IsStopWord = word.IsStopWord || isFrench && isStopWord(word.Word)
		tokens = append(tokens, token{Token: word, letters: lettersWeight(word), credit: 1})
	}
	weigh(tokens, chunks)
	seen := map[string]bool{}
	tokens = slices.DeleteFunc(tokens, func(t token) bool {
		again := slices.ContainsFunc(t.Terms, func(term string) bool { return seen[term] })
		for _, term := range t.Terms {
			seen[term] = true
		}
		return again
	})
	unknown := 0
	tokens = slices.DeleteFunc(tokens, func(t token) bool {
		if t.Chunks == 0 {
			unknown++
		}
		return t.Chunks == 0 && unknown > maxUnknown
	})
	return tokens[:min(len(tokens), db.MaxSearchTokens)]
}

// maxUnknown bounds the unknown words of a question, because each is compared with all known words.
const maxUnknown = 32

// weigh sets the weights of tokens and sorts them, the highest first. A word that no chunk contains gets the average
// rarity of the other words.
func weigh(tokens []token, chunks int) {
	var letters, all float64
	for i := range tokens {
		if t := &tokens[i]; t.Chunks > 0 {
			t.weight = t.letters * rarity(t.Chunks, chunks)
			letters, all = letters+t.letters, all+t.weight
		}
	}
	average := 1.0
	if letters > 0 {
		average = all / letters
	}
	for i := range tokens {
		if t := &tokens[i]; t.Chunks == 0 {
			t.weight = t.letters * average
		}
	}
	slices.SortFunc(tokens,
		func(a, b token) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Word, b.Word)) })
}

// rarity is the inverse document frequency of BM25 for a word that some chunks contain. It is above 0.
func rarity(holders, chunks int) float64 {
	// Documents may be indexed between the two counts.
	others := float64(max(chunks-holders, 0))
	return math.Log(1 + (others+0.5)/(float64(holders)+0.5))
}

// lettersWeight is stopLetters for a stop word, and otherwise log2(1 + letters), times 1.5 for a word with a digit:
// long words and numbers distinguish texts.
func lettersWeight(t db.Token) float64 {
	if t.IsStopWord {
		return stopLetters
	}
	w := math.Log2(1 + float64(utf8.RuneCountInString(t.Word)))
	if strings.ContainsFunc(t.Word, unicode.IsDigit) {
		w *= 1.5
	}
	return w
}

func (t token) isStop() bool { return t.letters <= stopLetters }

// isUnknown reports whether no chunk contains the token and similar words may replace it. Numbers and short words are
// never replaced.
func (t token) isUnknown() bool {
	return t.Chunks == 0 && read.MaxTypos(t.Word) > 0 && !t.isStop() && !strings.ContainsFunc(t.Word, unicode.IsDigit)
}

// nearest returns the known words that an unknown token may mean, and the credit for them: the share of correct
// letters.
func (t token) nearest(known []string) (words []string, credit float64) {
	best := read.MaxTypos(t.Word)
	for _, word := range known {
		switch d := read.Distance(t.Word, word, best); {
		case d > best:
		case d < best:
			best, words = d, []string{word}
		default:
			words = append(words, word)
		}
	}
	return t.closest(words), 1 - float64(best)/float64(utf8.RuneCountInString(t.Word))
}

// maxMeant bounds the words that an unknown word may mean.
const maxMeant = 16

// closest returns at most maxMeant of the words, preferring the token's first letter and then its length.
func (t token) closest(words []string) []string {
	if len(words) <= maxMeant {
		return words
	}
	first, _ := utf8.DecodeRuneInString(t.Word)
	letters := utf8.RuneCountInString(t.Word)
	otherness := func(word string) (n int) {
		if letter, _ := utf8.DecodeRuneInString(word); letter != first {
			n += 2
		}
		if utf8.RuneCountInString(word) != letters {
			n++
		}
		return n
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(otherness(a), otherness(b)) })
	return words[:maxMeant]
}

// replaceTerms replaces the terms of a token with the terms of other words.
func (t *token) replaceTerms(words []db.Token, credit float64) {
	t.Terms, t.credit = nil, credit
	for _, word := range words {
		t.Terms = append(t.Terms, word.Terms...)
		t.Chunks = max(t.Chunks, word.Chunks)
	}
	t.Terms = model.Unique(t.Terms)
}

const (
	// expected is how many of a question's weightiest tokens a chunk has to contain for a similarity of 1. It does not
	// depend on the length of the question.
	expected = 10
	// saturation and lengthShare are k1 and b of BM25: the saturation of a word's occurrences, and the influence of a
	// chunk's length.
	saturation, lengthShare = 1.2, 0.75
	// neighborShare is the share that a word gains if a neighbor in the question is also its neighbor in the chunk.
	// Neighbors are at most nearby words apart.
	neighborShare, nearby = 0.2, 2
	// beginningShare is the share that a word gains if it is among the first words of a chunk, which often are its
	// heading.
	beginningShare, firstWords = 0.2, 10
)

// scorer scores chunks for the tokens of a question.
type scorer struct {
	tokens    []token
	neighbors [][2]int
	// holders has the indexes of the tokens with each term, by the index of the term.
	holders [][]int
	// full is the weight for a similarity of 1, and length the mean length of the chunks.
	full, length float64
}

// newScorer returns the scorer for tokens, the heaviest first. chunks refer to terms by their index in terms.
func newScorer(tokens []token, neighbors [][2]int, terms []string, chunks []db.ChunkTerms) *scorer {
	s := &scorer{tokens: tokens, neighbors: neighbors, holders: make([][]int, len(terms))}
	places := make(map[string]int, len(terms))
	for i, term := range terms {
		places[term] = i
	}
	for i, t := range tokens {
		if i < expected {
			s.full += t.weight
		}
		for _, term := range t.Terms {
			s.holders[places[term]] = append(s.holders[places[term]], i)
		}
	}
	// Sums of integers do not depend on the order of the chunks.
	lengths := 0
	for _, c := range chunks {
		lengths += int(max(c.Length, 1))
	}
	s.length = float64(lengths) / float64(len(chunks))
	return s
}

// score returns the tokens that a chunk contains with their credits, and the sum of the credited weights, as a share of
// the full weight.
func (s *scorer) score(c db.ChunkTerms) (matched []model.MatchedTerm, sum float64) {
	bound := saturation * (1 - lengthShare + lengthShare*float64(max(c.Length, 1))/s.length)
	saturated := func(times int) float64 { return float64(times) * (saturation + 1) / (float64(times) + bound) }
	credits, at := make([]float64, len(s.tokens)), make([][]uint16, len(s.tokens))
	for _, held := range c.Held {
		for _, i := range s.holders[held.Place] {
			if len(held.Positions) > len(at[i]) {
				at[i] = held.Positions
			}
			credits[i] = saturated(max(len(at[i]), 1))
		}
	}
	for i := range s.tokens {
		if len(at[i]) > 0 && at[i][0] <= firstWords {
			credits[i] += beginningShare
		}
	}
	for _, pair := range s.neighbors {
		if times := following(at[pair[0]], at[pair[1]]); times > 0 {
			credits[pair[0]] += neighborShare * saturated(times)
			credits[pair[1]] += neighborShare * saturated(times)
		}
	}
	matched = []model.MatchedTerm{}
	for i, t := range s.tokens {
		if credits[i] > 0 {
			term := model.MatchedTerm{Word: t.Word, Weight: t.weight / s.full, Credit: t.credit * credits[i]}
			matched = append(matched, term)
			sum += term.Weight * term.Credit
		}
	}
	return matched, sum
}

// following counts the positions in second that are after a position in first, at most nearby words later. Both lists
// are ascending.
func following(first, second []uint16) (times int) {
	for _, position := range second {
		if i, _ := slices.BinarySearch(first, position-min(position, nearby)); i < len(first) && first[i] < position {
			times++
		}
	}
	return times
}

// neighborsOf returns the distinct pairs of tokens that follow each other in the words of a question.
func neighborsOf(words []string, tokens []token) (pairs [][2]int) {
	places := make(map[string]int, len(tokens))
	for i, t := range tokens {
		if !t.isStop() {
			places[t.Word] = i
		}
	}
	last, lastAt := 0, -nearby-1
	for at, word := range words {
		i, isToken := places[word]
		if !isToken {
			continue
		}
		if i != last && at-lastAt <= nearby {
			pairs = append(pairs, [2]int{last, i})
		}
		last, lastAt = i, at
	}
	return model.Unique(pairs)
}

// blend returns a chunk's score. weight is the share of the term similarity.
func blend(term, vector, weight float64) float64 { return weight*term + (1-weight)*vector }

// normalizeVector scales a vector to length 1, so that the product of two is their cosine. It returns zeros for a
// vector whose length is zero, infinite or not a number.
func normalizeVector(vector []float32) []float32 {
	var square float64
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	length := math.Sqrt(square)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return make([]float32, len(vector))
	}
	return model.Map(vector, func(x float32) float32 { return float32(float64(x) / length) })
}

// cosine is the cosine of two unit vectors, at least 0. It is 0 if their lengths differ.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	// Eight independent sums run in parallel. Slicing a and b alike avoids further bounds checks.
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
