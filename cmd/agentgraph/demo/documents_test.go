package demo

import (
	"context"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func TestEveryDocumentIsValid(t *testing.T) {
	t.Parallel()
	var used []string
	for _, d := range mustRead(t, "merrowby").Datasets {
		require.NotEmpty(t, d.Documents, d.Key)
		for _, name := range d.Documents {
			content, err := text("merrowby", name)
			require.NoError(t, err)
			require.True(t, utf8.ValidString(content), name)
			_, err = model.NewDocument(model.AddDocumentInput{DatasetID: d.Key, Name: &name, Text: &content}, time.Now())
			require.NoError(t, err, name)
			used = append(used, name)
		}
	}
	entries, err := files.ReadDir("merrowby/knowledge")
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	slices.Sort(used)
	require.Equal(t, all, used)
}

// A missing document fails the seed before anything is committed.
func TestSeedRefusesMissingDocument(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	s := seeding{tenant: store.Tenant(company.ID), datasets: ids{}}
	require.ErrorContains(t, s.documents(t.Context(), "merrowby", []dataset{{Key: "a", Documents: []string{"none.md"}}}),
		"none.md")
}

// index runs the jobs that the seed has enqueued, and returns when they are done.
func index(t *testing.T, store *db.Store) {
	t.Helper()
	jobs := 0
	for _, d := range mustRead(t, "merrowby").Datasets {
		jobs += len(d.Documents)
	}
	base := knowledge.New(knowledge.Options{})
	done := make(chan error, jobs)
	require.NoError(t, store.Work(t.Context(), 2,
		db.Workers{Index: func(ctx context.Context, tenant *db.Tenant, id string, attempt int32) error {
			err := base.Index(ctx, tenant, id, attempt)
			done <- err
			return err
		}}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	for range jobs {
		require.NoError(t, <-done)
	}
	require.NoError(t, store.StopWork(t.Context()))
}

func TestSeededDocumentsAreIndexed(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	index(t, store)
	tenant := store.Tenant(shown.ID)
	page, err := tenant.Documents(t.Context(), wholeList, nil, nil)
	require.NoError(t, err)
	chunks := map[string]int32{}
	for _, d := range page.Nodes {
		require.Equal(t, model.DocumentStatusReady, d.Status, "%s: %v", d.Name, d.Error)
		require.Nil(t, d.Warning, d.Name)
		chunks[d.Name] = d.ChunkCount
	}
	// There is a chunk for each section, pair, row and article.
	require.Equal(t, map[string]int32{
		"home_manual.md": 25, "support_questions.csv": 44, "price_list.csv": 43, "conditions_de_vente.md": 17,
	}, chunks)
}
