package model

// Citation is a number in a message that stands for a chunk, which the message quotes. It is as the chunk was when
// the message was written: the document may have changed or gone since.
type Citation struct {
	// Number is what the message cites the chunk by.
	Number       int32  `json:"number"`
	DocumentID   string `json:"documentId"`
	DocumentName string `json:"documentName"`
	ChunkID      string `json:"chunkId"`
	Position     int32  `json:"position"`
	Content      string `json:"content"`
}
