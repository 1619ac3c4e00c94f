package model

// Citation is a numbered reference in a message to a chunk that the message quotes. It describes the chunk at the time
// of the message: the document may have changed or been deleted since.
type Citation struct {
	// Number is the number of the reference in the message.
	Number       int32  `json:"number"`
	DocumentID   string `json:"documentId"`
	DocumentName string `json:"documentName"`
	ChunkID      string `json:"chunkId"`
	Position     int32  `json:"position"`
	Content      string `json:"content"`
}
