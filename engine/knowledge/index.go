package knowledge

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// indexTimeout bounds one attempt.
	indexTimeout = 10 * time.Minute
	// largeText is the size in bytes from which texts are indexed one at a time. The words and chunks of a text take up to
	// seven times its memory.
	largeText = 2 << 20
	// lastAttempt is the attempt after which the document fails, whatever the reason. Attempts that ended with a wait
	// do not count.
	lastAttempt = 3
	// maxDistinct bounds the distinct words of a document. Each is a row that Postgres writes while the dataset is
	// locked: 660,000 took 16 s.
	maxDistinct = 1_000_000
	// awayDelay is a document's first wait if the database does not answer. The wait doubles each time.
	awayDelay = time.Second
	// releaseTimeout bounds the attempts to release a document, and releasePause is the wait between them. When the
	// database is back, the release should arrive before another worker assumes that this worker died.
	releaseTimeout, releasePause = 10 * time.Second, 100 * time.Millisecond
)

// busyError is returned when a step can run for only one document of the process at a time, and another document is in
// it. Its text says what the document waits for. The document is postponed, because waiting for minutes would block the
// worker.
type busyError string

func (e busyError) Error() string { return string(e) }

// errLarge is returned while another large text is being indexed.
const errLarge busyError = "it waits until another large document has been indexed"

// Index reads a document, cuts it into chunks and stores them. attempt is the number of times that workers were given
// this job, including this time. Index returns nil if the document is Ready or Failed or there is nothing to do. After
// an error, indexing has to be retried. The error is a db.Later if the embedding model or the database is unavailable.
// Neither their outage nor the end of ctx counts as a failure of the document.
func (b *Base) Index(ctx context.Context, t *db.Tenant, indexingID string, attempt int32) error {
	d, err := t.ClaimDocument(ctx, indexingID, attempt)
	if pg.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) {
		return &db.Later{In: awayDelay, Err: err}
	}
	if err != nil || d == nil {
		return err
	}
	switch err = b.attempt(ctx, t, d); {
	case err == nil, isOver(err):
		return nil
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), release(ctx, t, d))
	case pg.IsUnavailable(err) && d.Waits < maxWaits:
		wait := waitOf(awayDelay, d.Waits)
		return &db.Later{In: wait, Err: errors.Join(err, release(ctx, t, d))}
	}
	return err
}

// attempt indexes a claimed document, or records why it cannot be indexed.
func (b *Base) attempt(ctx context.Context, t *db.Tenant, d *model.Document) error {
	err := b.outage.Load().err()
	if err == nil {
		if err = b.index(ctx, t, d); isUnavailable(err) != nil {
			b.outage.Store(&outage{time.Now().Add(outageTime), isUnavailable(err)})
		}
	}
	busy, isBusy := errors.AsType[busyError](err)
	var known *model.Error
	switch errors.As(err, &known); {
	case err == nil, ctx.Err() != nil, pg.IsUnavailable(err) && d.Waits < maxWaits:
		return err
	case known != nil && known.Code == model.Unprocessable:
		return fail(ctx, t, d, known.Message)
	case isUnavailable(err) != nil && d.Waits < maxWaits:
		return postpone(ctx, t, d, max(waitOf(firstWait, d.Waits), isUnavailable(err).RetryAfter),
			"it waits for the embedding model; the server retries for about a day: "+isUnavailable(err).Message,
			isUnavailable(err))
	case isBusy:
		return postpone(ctx, t, d, min(waitOf(firstWait, d.Waits), longestBusy), busy.Error(), err)
	case !isOver(err) && d.Claim-d.Waits >= lastAttempt:
		b.log.ErrorContext(ctx, "a document could not be indexed", "document", d.ID, "error", err)
		reason := "it could not be indexed, for a reason that is not in the document; index its dataset again"
		if failure, ok := errors.AsType[*llm.Error](err); ok {
			reason = "it could not be embedded: " + failure.Message
		}
		return fail(ctx, t, d, reason)
	}
	return err
}

// release retries until the database has recorded that the attempt does not count, even after ctx has ended.
func release(ctx context.Context, t *db.Tenant, d *model.Document) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for {
		err := t.ReleaseDocument(ctx, d)
		if err == nil || isOver(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(releasePause):
		}
	}
}

func fail(ctx context.Context, t *db.Tenant, d *model.Document, reason string) error {
	d.Error = new(model.Reason(reason))
	return t.FailDocument(ctx, d)
}

// isOver reports whether the document was deleted or claimed by another worker.
func isOver(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && (known.Code == model.Conflict || known.Code == model.NotFound)
}

// index makes the chunks of a document. An UNPROCESSABLE error says what is wrong with the document.
func (b *Base) index(ctx context.Context, t *db.Tenant, d *model.Document) (err error) {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			b.log.ErrorContext(ctx, "indexing panicked", "document", d.ID, "reason", reason, "stack", string(debug.Stack()))
			err = fmt.Errorf("indexing panicked: %v", reason)
		}
	}()
	// If the dataset changes later, its documents are indexed again.
	dataset, err := t.Dataset(ctx, d.DatasetID)
	if err != nil {
		return err
	}
	isLarge := strings.HasPrefix(d.ContentType, "text/") && d.Size >= largeText
	if isLarge && !b.large.TryLock() {
		return errLarge
	}
	defer func() {
		if isLarge {
			b.large.Unlock()
		}
	}()
	pieces, warning, err := b.cut(ctx, t, d, dataset)
	if err != nil {
		return err
	}
	if !isLarge && sizeOfPieces(pieces) >= largeText {
		if isLarge = b.large.TryLock(); !isLarge {
			return errLarge
		}
	}
	chunks, err := chunksOf(ctx, pieces)
	if err != nil {
		return err
	}
	if d.Languages = []string{dataset.Language}; dataset.Language == model.AnyLanguage {
		if d.Languages = languagesOf(chunks); d.Languages == nil {
			// If the document is too short, its language is recognized together with other documents of the dataset.
			others, err := t.FirstChunks(ctx, d.DatasetID, maxSamples)
			if err != nil {
				return err
			}
			d.Languages = languagesOf(append(others, chunks...))
		}
	}
	if err := b.embed(ctx, d, chunks); err != nil {
		return err
	}
	if d.Warning = nil; warning != "" {
		d.Warning = new(model.Reason(warning))
	}
	return t.FinishDocument(ctx, d, chunks)
}

func sizeOfPieces(pieces []Piece) (bytes int) {
	for _, p := range pieces {
		bytes += len(p.Content)
	}
	return bytes
}

// chunksOf returns the chunks of pieces with their words. It returns ctx's error, or UNPROCESSABLE for more than
// maxDistinct distinct words.
func chunksOf(ctx context.Context, pieces []Piece) ([]*model.Chunk, error) {
	chunks := make([]*model.Chunk, len(pieces))
	// Hashes take less memory than words. A collision lets one more word pass.
	seed, distinct := maphash.MakeSeed(), map[uint64]struct{}{}
	for i, p := range pieces {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		cleaned := content.Clean(p.Content)
		words := slices.Concat(allWordsOf(cleaned), wholes(codesOf(cleaned)), charactersOf(cleaned))
		for _, word := range words {
			distinct[maphash.String(seed, word.Folded)] = struct{}{}
		}
		if len(distinct) > maxDistinct {
			return nil, unreadable(fmt.Sprintf("the text has more than %d different words; split the file", maxDistinct))
		}
		chunks[i] = &model.Chunk{Content: cleaned, Tokens: int32(p.Tokens), Words: words}
	}
	return chunks, nil
}

// cut waits for its company's turn, reads a document and cuts it into pieces.
func (b *Base) cut(ctx context.Context, t *db.Tenant, d *model.Document,
	dataset *model.Dataset) (pieces []Piece, warning string, err error) {
	if err := b.files.Enter(ctx, t.CompanyID()); err != nil {
		return nil, "", err
	}
	defer b.files.Leave(t.CompanyID())
	content, text, err := readDocument(ctx, t, d)
	if b.pictures.reads(err) {
		text, err = b.pictures.recognizeText(ctx, content)
	}
	if err != nil {
		return nil, "", err
	}
	pieces, warning, err = Chunk(ctx, text, dataset.ChunkMethod, dataset.ParserConfig)
	return pieces, strings.Join(nonBlank([]string{text.Warning, warning}), "; "), err
}

// readDocument returns the file and the text of a document. The caller must hold a slot of Base.files.
func readDocument(ctx context.Context, t *db.Tenant, d *model.Document) ([]byte, Text, error) {
	content, err := t.ContentOfDocument(ctx, d.ID)
	if err != nil {
		return nil, Text{}, err
	}
	if !isReadable(d.ContentType) {
		return nil, Text{}, unreadable("a file of the type " + d.ContentType +
			" cannot be read; send text, Markdown, HTML, XML, CSV, JSON, PDF, DOCX, XLSX, PPTX, ODT, ODS, RTF, " +
			"EPUB or EML")
	}
	text, err := Read(ctx, d.Name, d.ContentType, content)
	return content, text, err
}
