package knowledge

// Windowed returns the same base for which every set is a large one.
func (b *Base) Windowed() *Base {
	windowed := *b
	windowed.limits.whole = 0
	windowed.vectors = newVectorCache()
	return &windowed
}

// Few returns the same base that compares the vectors only of what words found.
func (b *Base) Few() *Base {
	few := *b.Windowed()
	few.limits.vectors = 0
	return &few
}

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
