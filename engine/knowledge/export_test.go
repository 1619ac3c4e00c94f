package knowledge

import (
	"context"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
)

// Narrow returns a copy with another window, which is how many chunks it scores.
func (b *Base) Narrow(window int) *Base {
	narrow := *b
	narrow.window = window
	narrow.vectors = newVectorCache()
	return &narrow
}

// Glancing returns a copy that visits the given number of chunks with rare words.
func (b *Base) Glancing(visits int) *Base {
	glancing := *b
	glancing.visits = visits
	return &glancing
}

// ReadAs reads a file, other than a PDF, in the caller's goroutine.
func ReadAs(ctx context.Context, name string, content []byte) (Text, error) {
	return reader(name, "", content)(ctx, content)
}

// EndOutage clears the recorded outage of the embedding model.
func (b *Base) EndOutage() { b.outage.Store(nil) }

// ChunksOf returns the chunks of pieces with their words.
var ChunksOf = chunksOf

// Token is a word of a question.
type Token = token

// The parts of a score.
var (
	WordsOf     = wordsOf
	Folded      = folded
	LanguagesOf = languagesOf
	TokensOf    = tokensOf
	NewScorer   = newScorer
	NeighborsOf = neighborsOf
	Blend       = blend
	Unit        = normalizeVector
	Cosine      = cosine
)

// Closest returns the words that an unknown word most likely means.
func Closest(word string, known []string) []string {
	return (Token{Token: db.Token{Word: word}}).closest(known)
}

// Codes returns the codes of a text, as they are indexed.
func Codes(text string) []string { return folded(wholes(codesOf(text))) }

// Score returns the similarity of a chunk. It may exceed 1.
func (s *scorer) Score(c db.ChunkTerms) float64 {
	_, sum := s.score(c)
	return sum
}

// Weight returns the weight of the token.
func (t token) Weight() float64 { return t.weight }

// Nearest returns the words that the token may mean, and its credit for them.
func (t token) Nearest(known []string) (words []string, credit float64) { return t.nearest(known) }

// Alike returns the words of a vocabulary that are compared with a misspelled one.
func Alike(words []string, word string) []string {
	return alike([]*vocabulary{vocabularyOf(db.Vocabulary{Terms: strings.Join(words, "\n")})}, word)
}

// CachedVocabularies returns how many vocabularies are cached.
func (b *Base) CachedVocabularies() int { return b.vocabularies.known.Len() }

// ReadVocabularies waits for a slot to read vocabularies for the company. It returns the function that releases the
// slot.
func (b *Base) ReadVocabularies(ctx context.Context, companyID string) (leave func(), err error) {
	return func() { b.vocabularies.gate.Leave(companyID) }, b.vocabularies.gate.Enter(ctx, companyID)
}

// TakeGuesses takes all slots in which questions of the company guess words. It returns the function that releases
// them.
func (b *Base) TakeGuesses(companyID string) (leave func()) {
	taken := 0
	for b.guesses.TryEnter(companyID) {
		taken++
	}
	return func() {
		for range taken {
			b.guesses.Leave(companyID)
		}
	}
}

// ReadFile waits for a slot to read a file of the company. It returns the function that releases the slot.
func (b *Base) ReadFile(ctx context.Context, companyID string) (leave func(), err error) {
	return func() { b.files.Leave(companyID) }, b.files.Enter(ctx, companyID)
}

// Recognize returns the text in a picture, or in the given number of pages of a scanned PDF.
func Recognize(ctx context.Context, o OCR, pages int, content []byte) (Text, error) {
	r := newRecognizer(o)
	r.pages = pages
	return r.recognizeText(ctx, content)
}

// RecognizeWithin is like Recognize with other limits: the bytes of pages, and the time for a picture and for a file.
func RecognizeWithin(ctx context.Context, o OCR, bytes int, picture, file time.Duration, content []byte) (Text, error) {
	r := newRecognizer(o)
	r.bytes, r.picture, r.file = bytes, picture, file
	return r.recognizeText(ctx, content)
}

// ScanLimits returns the maximum number of pages, their maximum size in bytes, and the time limits for a picture and a
// file.
func ScanLimits() (pages, bytes int, picture, file time.Duration) {
	l := newRecognizer(OCR{Program: "tesseract"}).scanLimits
	return l.pages, l.bytes, l.picture, l.file
}

// RecognizeNothing blocks the reading of pictures until the returned function is called.
func (b *Base) RecognizeNothing() (end func()) {
	b.pictures.busy.Lock()
	return b.pictures.busy.Unlock
}

// FormatNumber returns a number as a spreadsheet shows it in a format.
func FormatNumber(value float64, code string) string {
	x := xlsx{formats: map[string]*numberFormat{}}
	return x.number(value, code)
}

// CountRows returns the number of rows that a test gets from a table document.
func CountRows(text Text) (int, error) {
	_, count, err := rowsOf(text, nil)
	return count, err
}

// IndexLarge takes the turn of a large text, and returns a function that ends it.
func (b *Base) IndexLarge() (done func()) {
	b.large.Lock()
	return b.large.Unlock
}
