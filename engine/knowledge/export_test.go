package knowledge

import "time"

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

// EndOutage forgets that the embedding model was away.
func (b *Base) EndOutage() { b.outage.until = time.Time{} }

// Token is one of a question's.
type Token = token

// The parts of a score.
var (
	TokensOf       = tokensOf
	TermsOf        = termsOf
	TermSimilarity = termSimilarity
	Blend          = blend
	Distance       = distance
	Unit           = unit
	Cosine         = cosine
)

// Word, Terms, Weight and Credit are what a token is.
func (t token) Word() string { return t.word }

// Weight is what holding the token counts.
func (t token) Weight() float64 { return t.weight }

// Near is the token for which similar words stand, and its credit.
func (t token) Near(known []string) (terms []string, credit float64) {
	t = t.near(known)
	return t.terms, t.credit
}
