package model

// RetrievedChunk is a search result: a chunk with its scores for a question.
type RetrievedChunk struct {
	*Chunk

	Document *Document
	// Score is the weighted similarity, from 0 to 1.
	Score          float64
	TermSimilarity float64
	// VectorSimilarity is nil without an embedding model.
	VectorSimilarity *float64
	// IsBelowThreshold is set if the score is below the threshold. Such chunks are only included on request.
	IsBelowThreshold bool
	MatchedTerms     []MatchedTerm
}

// MatchedTerm is a word of a question that the chunk contains. The weights of a question's 10 weightiest words add up
// to 1. Credit is the factor with which the weight counts for the chunk: 1 for one occurrence in a chunk of average
// length, and more for several.
type MatchedTerm struct {
	Word   string
	Weight float64
	Credit float64
}

// MaxBelowThreshold is the maximum number of reported chunks below the threshold.
const MaxBelowThreshold = 100

// ValidateQuestion returns BAD_INPUT for an invalid question, or too many chunks below the threshold.
func ValidateQuestion(question string, below int32) error {
	var faults Fields
	faults.text("question", question, 1, 10_000)
	faults.count("belowThreshold", &below, 0, MaxBelowThreshold)
	return faults.Err()
}
