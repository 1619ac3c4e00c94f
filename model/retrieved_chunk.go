package model

// RetrievedChunk is a chunk that was found for a question.
type RetrievedChunk struct {
	*Chunk

	Document *Document
	// Score weighs the similarities, 0 to 1.
	Score          float64
	TermSimilarity float64
	// VectorSimilarity is nil without an embedding model.
	VectorSimilarity *float64
	// IsBelowThreshold: it was asked for though it scores too low to be used.
	IsBelowThreshold bool
	MatchedTerms     []MatchedTerm
}

// MatchedTerm is a word of a question that a chunk holds. The weights of all words of the question add up to 1, and
// Credit is the part of the weight that the chunk is given, 0 to 1.
type MatchedTerm struct {
	Word   string
	Weight float64
	Credit float64
}

// MostBelowThreshold bounds the reported chunks whose score is too low.
const MostBelowThreshold = 100

// ValidateQuestion returns BAD_INPUT for a question that cannot be asked, or too many chunks below the threshold.
func ValidateQuestion(question string, below int32) error {
	var faults Fields
	faults.text("question", question, 1, 10_000)
	faults.count("belowThreshold", &below, 0, MostBelowThreshold)
	return faults.Err()
}
