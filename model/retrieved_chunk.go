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
}

// ValidateQuestion returns BAD_INPUT for a question that cannot be asked.
func ValidateQuestion(question string) error {
	var faults Fields
	faults.text("question", question, 1, 10_000)
	return faults.Err()
}
