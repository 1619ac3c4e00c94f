package db

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// documentsInterval is the minimum time between two reads of the documents of a dataset.
const documentsInterval = time.Second

// FollowDocuments delivers each document of a dataset that is added or changes from now on, in its current state.
// Changes within a second are delivered together, each document once. It closes the channel when the dataset was
// deleted, and when ctx ends.
func (t *Tenant) FollowDocuments(ctx context.Context, datasetID string) (<-chan *model.Document, error) {
	p := t.acquireTopic(followedDatasets, datasetID, newDocumentReader(datasetID))
	r := p.reader.(*documentReader)
	rows, err := r.rows(ctx)
	if err != nil {
		p.release()
		return nil, err
	}
	p.begin(0, false, func() { r.applyRows(rows, 0) })
	return live.Channel(ctx, r.documents.Follow(r.documents.End(), p.release)), nil
}

// documentReader reads the documents of a dataset as they change. There are at most model.MaxDocuments, so it compares
// them with their previous state. Numbered changes would make all writers wait for each other. While nothing has
// changed, it reads only a digest.
type documentReader struct {
	tenant    *Tenant
	id        string
	documents *live.Log[*model.Document]
	// readAt is the time of the last read, and lastDigest its digest. again is the timer that reads changes less than
	// documentsInterval after readAt.
	readAt     time.Time
	again      *time.Timer
	lastDigest digest

	mu sync.Mutex
	// states has the documents by their ids. last is the position of the last change.
	states map[string]knownDocument
	last   live.Position
}

// documentRow is a document's id, and the id of the transaction that wrote its row.
type documentRow struct {
	ID  string
	Row int64
}

// digest identifies the state of a dataset's documents: their number and a hash of their rows.
type digest struct{ Count, Hash int64 }

const hashOfDocuments = "coalesce(bit_xor(hashtextextended(?TableAlias.id, ?TableAlias.xmin::text::bigint)), 0)"

// knownDocument is the last seen row of a document, and the position of its last change.
type knownDocument struct {
	row int64
	at  live.Position
}

func newDocumentReader(id string) func(*Tenant, *live.MemoryBudget) reader {
	return func(t *Tenant, budget *live.MemoryBudget) reader {
		r := &documentReader{tenant: t, id: id}
		r.documents = newLog(t, budget, r.readStored)
		return r
	}
}

func (r *documentReader) poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error) {
	if !isWoken {
		return waitForSignal, nil
	}
	if rest := time.Until(r.readAt.Add(documentsInterval)); rest > 0 {
		if r.again == nil {
			r.again = time.AfterFunc(rest, func() { p.wake(true) })
		}
		r.again.Reset(rest)
		return waitForSignal, nil
	}
	// Changes between the two statements are found by the next read.
	seen, err := r.digest(ctx)
	if err != nil {
		return waitForSignal, err
	}
	if seen == r.lastDigest {
		r.readAt = time.Now()
		return waitForSignal, nil
	}
	rows, err := r.rows(ctx)
	if err != nil {
		return waitForSignal, err
	}
	r.readAt, r.lastDigest = time.Now(), seen
	if err := catchUp(ctx, r.documents, r.applyRows(rows, 1), r.readStored); err != nil {
		r.readAt, r.lastDigest = time.Time{}, digest{}
		return waitForSignal, err
	}
	return waitForSignal, nil
}

func (r *documentReader) closeFollowers() { r.documents.Close() }

// digest reads the digest of the documents. It returns NOT_FOUND when the dataset was deleted.
func (r *documentReader) digest(ctx context.Context) (d digest, err error) {
	err = r.selectDocuments().ColumnExpr("count(*) AS count").ColumnExpr(hashOfDocuments+" AS hash").Scan(ctx, &d)
	if err == nil && d.Count == 0 {
		return d, r.tenant.db.Exists(ctx, dataset, &r.id, (*model.Dataset)(nil))
	}
	return d, err
}

// rows reads the rows of the dataset's documents. It returns NOT_FOUND when the dataset was deleted.
func (r *documentReader) rows(ctx context.Context) ([]documentRow, error) {
	rows := []documentRow{}
	err := r.selectDocuments().ColumnExpr("?TableAlias.id, ?TableAlias.xmin::text::bigint AS row").Scan(ctx, &rows)
	if err == nil && len(rows) == 0 {
		return rows, r.tenant.db.Exists(ctx, dataset, &r.id, (*model.Dataset)(nil))
	}
	return rows, err
}

func (r *documentReader) selectDocuments() *bun.SelectQuery {
	return r.tenant.db.Select((*model.Document)(nil)).Where("?TableAlias.dataset_id = ?", r.id)
}

// applyRows updates the known documents to the rows, and returns the position of the last change. Each change is one
// step after the previous one.
func (r *documentReader) applyRows(rows []documentRow, step live.Position) live.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[string]knownDocument, len(rows))
	for _, row := range rows {
		was, isKnown := r.states[row.ID]
		if !isKnown || was.row != row.Row {
			r.last += step
			was = knownDocument{row.Row, r.last}
		}
		known[row.ID] = was
	}
	r.states = known
	return r.last
}

// changed returns at most maxChanges documents that changed after the position, in any order, with the positions of
// their changes. upTo is the position up to which it looked.
func (r *documentReader) changed(after live.Position) (ids []string, at map[string]live.Position, upTo live.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = map[string]live.Position{}
	for id, d := range r.states {
		if d.at > after && d.at <= after+maxChanges {
			ids, at[id] = append(ids, id), d.at
		}
	}
	return ids, at, min(r.last, after+maxChanges)
}

// readStored reads documents that changed after the position, in the order of their last changes.
func (r *documentReader) readStored(ctx context.Context, after,
	_ live.Position) ([]live.Stored[*model.Document], live.Position,
	error) {
	ids, at, upTo := r.changed(after)
	documents := []*model.Document{}
	if err := r.tenant.db.Select(&documents).Where("?TableAlias.id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, after, err
	}
	kept := make([]live.Stored[*model.Document], len(documents))
	for i, d := range documents {
		kept[i] = live.Stored[*model.Document]{Value: d, At: at[d.ID]}
	}
	slices.SortFunc(kept, func(a, b live.Stored[*model.Document]) int { return cmp.Compare(a.At, b.At) })
	return kept, upTo, nil
}
