package knowledge

import (
	"context"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
)

// Windowed returns the same base for which every set is a large one.
func (b *Base) Windowed() *Base {
	windowed := *b
	windowed.limits.whole = 0
	windowed.vectors = newVectorCache()
	return &windowed
}

// Narrow returns the same base for which every set is a large one, of which it scores so many chunks.
func (b *Base) Narrow(window int) *Base {
	narrow := b.Windowed()
	narrow.limits.window = window
	return narrow
}

// ReadAs reads a file that is no PDF in the caller's goroutine.
func ReadAs(ctx context.Context, name string, content []byte) (Text, error) {
	return reader(name, "", content)(ctx, content)
}

// EndOutage forgets that the embedding model was away.
func (b *Base) EndOutage() { b.outage.until = time.Time{} }

// Token is one of a question's.
type Token = token

// The parts of a score.
var (
	WordsOf        = wordsOf
	TokensOf       = tokensOf
	TermSimilarity = termSimilarity
	Blend          = blend
	Distance       = distance
	Unit           = unit
	Cosine         = cosine
)

// Weight is what holding the token counts.
func (t token) Weight() float64 { return t.weight }

// Nearest are the words that the token stands for, and its credit.
func (t token) Nearest(known []string) (words []string, credit float64) { return t.nearest(known) }

// Alike are the words of a vocabulary that are compared with a misspelled one.
func Alike(words []string, word string) []string {
	return alike([]*vocabulary{vocabularyOf(db.Vocabulary{Terms: strings.Join(words, "\n")})}, word)
}

// MaxDistance is how many letters a misspelled word may have wrong.
var MaxDistance = maxDistance

// KeptVocabularies is how many vocabularies are kept, and what they take.
func (b *Base) KeptVocabularies() (number, size int) {
	return b.vocabularies.known.Len(), b.vocabularies.size
}

// KeepVocabulary has one of the size kept for a dataset.
func (b *Base) KeepVocabulary(datasetID string, size int) {
	b.vocabularies.put(datasetID, &vocabulary{size: size})
}

// MaxVocabularies bounds what vocabularies take.
const MaxVocabularies = maxVocabularies
