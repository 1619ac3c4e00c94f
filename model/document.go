package model

import (
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// MaxText bounds a document given as text, in characters.
const MaxText = 1_000_000

// MaxDocumentBytes bounds the file of a document.
const MaxDocumentBytes = 25 << 20

// MaxDocuments bounds the documents of one dataset.
const MaxDocuments = 10_000

// MaxIndexAttempts is the maximum number of attempts to index a document. Attempts that Document.Waits counts are not
// included.
const MaxIndexAttempts = 4

// Document is a text or file of a dataset.
type Document struct {
	bun.BaseModel `bun:"table:documents,alias:document"`
	Owned

	ID          string `bun:",pk"`
	DatasetID   string
	Name        string
	ContentType string
	// Size is in bytes.
	Size int32
	// Digest is the SHA-256 of the content, in hexadecimal; nil if an older version of the program added the document.
	Digest *string
	// ObjectID names the object with the content in the bucket. It is nil if the content is in Postgres.
	ObjectID *string
	Status   DocumentStatus
	// Error is set exactly when the status is Failed.
	Error   *string
	Warning *string
	// ChunkCount is how many chunks are stored.
	ChunkCount int32
	// Languages are the languages by which the document's words were stemmed. Nil means UnknownLanguages.
	Languages []string `bun:",array,nullzero"`
	// EmbeddingModel is the model of the chunks' vectors. Nil when the chunks have none.
	EmbeddingModel *string
	// IndexingID identifies the current indexing. It changes whenever the document must be indexed again.
	IndexingID string
	// Claim is the attempt of the worker that indexes the document, from 1. It is 0 when no attempt has started.
	Claim int32
	// Waits counts the attempts of this indexing that were postponed, given up without a failure, or never started.
	Waits     int32
	CreatedAt time.Time
	IndexedAt *time.Time
}

// Cursor returns the position of this object in a list of documents.
func (d *Document) Cursor() Cursor { return Cursor{d.CreatedAt, d.ID} }

// Validate returns BAD_INPUT with every bound that the filter breaks.
func (f *DocumentFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.list("filter.statuses", len(f.Statuses), len(AllDocumentStatus))
		faults.optional("filter.nameContains", f.NameContains, 255)
	}
	return faults.Err()
}

// Chunk is a piece of a document. All chunks of a document have the same CreatedAt, and their ids are in the order of
// their positions.
type Chunk struct {
	bun.BaseModel `bun:"table:chunks,alias:chunk"`
	Owned

	ID         string `bun:",pk"`
	DatasetID  string
	DocumentID string
	// Position counts from 0.
	Position int32
	Content  string
	Tokens   int32
	// Words are the distinct words of the content, whose terms are searched. They are stored, but not read back.
	Words []Word `bun:"-"`
	// Embedding is the vector of the document's EmbeddingModel. Empty when it has none. It is stored in another
	// table.
	Embedding []float32 `bun:"-"`
	CreatedAt time.Time
}

// Word is a word of a text.
type Word struct {
	// Folded is the form for comparison: lower case, without accents.
	Folded string
	// Written is the form with accents, which stemming needs. Empty if there are none.
	Written string
}

// Cursor returns the position of this object in a list of chunks.
func (c *Chunk) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// NewDocument returns the document that the input describes, not indexed yet, or BAD_INPUT with every bound that the
// input breaks. The caller sets the content type.
func NewDocument(in AddDocumentInput, now time.Time) (*Document, error) {
	d := &Document{
		ID: NewID("document"), DatasetID: in.DatasetID, Status: DocumentStatusPending, IndexingID: NewID("indexing"),
		CreatedAt: now,
	}
	var faults Fields
	faults.oneOfTwo("text", "a file", in.Text != nil, in.Upload != nil)
	if in.Text != nil {
		d.Size = int32(len(*in.Text))
		faults.text("text", *in.Text, 1, MaxText)
	}
	if in.Upload != nil {
		d.Size = int32(in.Upload.Size)
	}
	switch {
	case in.Name != nil:
		d.Name = *in.Name
		faults.name("name", d.Name, 255)
	case in.Upload != nil:
		d.Name = in.Upload.Filename
		faults.name("name", d.Name, 255)
	case in.Text != nil:
		faults.Add("name", "must be given for a text")
	}
	return d, faults.Err()
}

// Reason cuts an error to the length that a document's Error may have.
func Reason(text string) string {
	const most = 1000
	if runes := []rune(text); len(runes) > most {
		return string(slices.Concat(runes[:most-1], []rune("…")))
	}
	return text
}
