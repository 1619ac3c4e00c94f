package db_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// longest is the largest number of rows in a response from the table of documents.
type longest struct {
	dbtest.Unchecked
	rows atomic.Int64
}

type ofDocuments struct{}

func (l *longest) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, ofDocuments{}, strings.Contains(data.SQL, `FROM "documents"`))
}

func (l *longest) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if ctx.Value(ofDocuments{}) == true && data.CommandTag.Select() {
		l.rows.Store(max(l.rows.Load(), data.CommandTag.RowsAffected()))
	}
}

func TestLabelledQuestionsReadOneDocumentPerName(t *testing.T) {
	t.Parallel()
	answers := &longest{}
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: answers}))
	dataset := newDataset(t, tenant)
	first := addDocument(t, tenant, dataset.ID, "first")
	last := first
	for range 20 {
		last = addDocument(t, tenant, dataset.ID, "another")
	}
	answers.rows.Store(0)
	added, err := tenant.AddLabelledQuestions(t.Context(), model.AddLabelledQuestionsInput{DatasetID: dataset.ID,
		Questions: []*model.LabelledQuestionInput{
			{Question: "By name?", DocumentName: &first.Name}, {Question: "By id?", DocumentID: &last.ID},
		}})
	require.NoError(t, err)
	require.Equal(t, []string{first.ID, last.ID}, []string{added[0].DocumentID, added[1].DocumentID})
	require.Positive(t, answers.rows.Load())
	require.LessOrEqual(t, answers.rows.Load(), int64(2), "of documents with the same name only the first is read")
}
