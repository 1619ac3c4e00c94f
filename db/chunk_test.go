package db_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// requireCorrectTerms compares the counted terms with the terms of the chunks.
func requireCorrectTerms(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var wrong int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM (
			SELECT chunks.company_id, chunks.dataset_id, term.lexeme AS term, count(*) AS chunks
			FROM chunks CROSS JOIN LATERAL unnest(chunks.search) AS term GROUP BY 1, 2, 3) AS held
		FULL JOIN dataset_terms AS known USING (company_id, dataset_id, term)
		WHERE held.chunks IS DISTINCT FROM known.chunks`).Scan(&wrong))
	require.Zero(t, wrong)
}

func TestTermsOfDatasetsAreCounted(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	dataset := newDataset(t, tenant)
	first := addDocument(t, tenant, dataset.ID, "a")
	second := addDocument(t, tenant, dataset.ID, "b")
	finishDocument(t, tenant, first, "red apple", "green apple")
	finishDocument(t, tenant, second, "red pear")
	found, err := tenant.Tokens(t.Context(), []string{dataset.ID, "gone"}, model.UnknownLanguages,
		wordsOf("apples", "the", "pear", "plum", "-"))
	require.NoError(t, err)
	require.Equal(t, []db.Token{
		{Word: "apples", Terms: []string{"appl", "apple", "apples"}, Chunks: 2},
		{Word: "the", Terms: []string{"the"}, IsStopWord: true},
		{Word: "pear", Terms: []string{"pear"}, Chunks: 1},
		{Word: "plum", Terms: []string{"plum"}},
	}, found)
	requireCorrectTerms(t, conn)

	_, err = tenant.ReindexDataset(t.Context(), dataset.ID)
	require.NoError(t, err)
	finishDocument(t, tenant, readDocument(t, tenant, first.ID), "blue apple")
	requireCorrectTerms(t, conn)
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: second.ID}))
	requireCorrectTerms(t, conn)
	require.NoError(t, tenant.DeleteDataset(t.Context(), dataset.ID))
	requireCorrectTerms(t, conn)
}

func TestTermsAreCountedWhenDocumentsFinishTogether(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	dataset := newDataset(t, tenant)
	documents := make([]*model.Document, 24)
	for i := range documents {
		documents[i] = addDocument(t, tenant, dataset.ID, "a")
		if i%3 == 0 {
			finishDocument(t, tenant, documents[i], "red apple", fmt.Sprint("only ", i))
		}
	}
	require.Empty(t, together(len(documents), func(i int) error {
		if i%3 == 0 {
			return tenant.DeleteDocument(context.Background(), model.DeleteDocumentInput{DocumentID: documents[i].ID})
		}
		claimed, err := tenant.ClaimDocument(context.Background(), documents[i].IndexingID, 1)
		if err != nil {
			return err
		}
		return tenant.FinishDocument(context.Background(), claimed,
			chunksOf("red apple", "apple pear", fmt.Sprint("none ", i%5)))
	}))
	requireCorrectTerms(t, conn)
	found := chunksWith(t, tenant, []string{dataset.ID}, "apple", "pear", `it's \ odd`)
	require.Len(t, found, 32)
	for _, c := range found {
		require.Equal(t, 0, c.Held[0].Place)
		require.Len(t, c.Held, int(1+c.Position), "only the second chunk has two of the terms")
		require.Equal(t, c.Position+1, c.Length)
	}
}

// chunksWith returns the chunks of the datasets with one of the terms.
func chunksWith(t *testing.T, tenant *db.Tenant, datasetIDs []string, terms ...string) []db.ChunkTerms {
	t.Helper()
	ids, err := tenant.LikelyChunks(t.Context(), datasetIDs, []db.WeighedToken{{Terms: terms, Weight: 1}}, []string{},
		1000, 1000)
	require.NoError(t, err)
	found, err := tenant.TermsOfChunks(t.Context(), ids, terms)
	require.NoError(t, err)
	return found
}

// Postgres has a stemmer for each language of a dataset. Words are stemmed both with and without their accents.
func TestTermsAreStemmedByLanguage(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	all, err := tenant.Tokens(t.Context(), nil, model.Languages, wordsOf("words"))
	require.NoError(t, err)
	require.Len(t, all, 1)
	words := []model.Word{{Folded: "hauser", Written: "häuser"}, {Folded: "красныи", Written: "красный"}, {Folded: "der"}}
	found, err := tenant.Tokens(t.Context(), nil, []string{"de", "ru", "xx"}, words)
	require.NoError(t, err)
	require.Equal(t, []db.Token{
		{Word: "hauser", Terms: []string{"haus", "hauser", "häuser"}},
		{Word: "красныи", Terms: []string{"красн", "красны", "красныи", "красный"}},
		{Word: "der", Terms: []string{"der"}, IsStopWord: true},
	}, found)

	dataset, other := newDataset(t, tenant), newDataset(t, tenant)
	chat := newChat(t, tenant, dataset.ID, other.ID)
	document := claim(t, tenant, addDocument(t, tenant, dataset.ID, "a").IndexingID, 1)
	document.Languages = []string{"de"}
	require.NoError(t, tenant.FinishDocument(t.Context(), document, []*model.Chunk{{Content: "Häuser", Words: words[:1]}}))
	finishDocument(t, tenant, addDocument(t, tenant, other.ID, "b"), "houses")
	searched, err := tenant.SearchedDatasets(t.Context(), chat.ID)
	require.NoError(t, err)
	languages := map[string][]string{searched[0].ID: searched[0].Languages, searched[1].ID: searched[1].Languages}
	require.Equal(t, map[string][]string{dataset.ID: {"de"}, other.ID: model.UnknownLanguages}, languages)
	require.Len(t, chunksWith(t, tenant, []string{dataset.ID, other.ID}, "haus"), 1)
}

// recorder records the statements of a store.
type recorder struct {
	mu    sync.Mutex
	asked []string
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, data.SQL)
	return ctx
}

func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		ctx = r.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: query.SQL})
	}
	return ctx
}

func (*recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func TestSearchUsesItsIndexes(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{Tracer: asked}))
	conn := connect(t, address)
	var datasets []string
	for range 2 {
		dataset := newDataset(t, tenant)
		datasets = append(datasets, dataset.ID)
		texts := make([]string, 5000)
		for i := range texts {
			texts[i] = fmt.Sprintf("common word%d rare%d a%db b%dc c%dd d%de %s", i%50, i, i, i, i, i,
				strings.Repeat("filler ", 100))
		}
		finishDocument(t, tenant, addDocument(t, tenant, dataset.ID, "a"), texts...)
	}
	likely := func(tokens []db.WeighedToken, other []string, visits, limit int) (contents []string) {
		ids, err := tenant.LikelyChunks(t.Context(), datasets, tokens, other, visits, limit)
		require.NoError(t, err)
		chunks, err := tenant.ChunksByID(t.Context(), ids, "content")
		require.NoError(t, err)
		for _, id := range ids {
			i := slices.IndexFunc(chunks, func(c *model.Chunk) bool { return c.ID == id })
			contents = append(contents, strings.Join(strings.Fields(chunks[i].Content)[1:3], " "))
		}
		return contents
	}
	found := likely([]db.WeighedToken{
		{Terms: []string{"rare7"}, Weight: 5}, {Terms: []string{"word3"}, Weight: 2},
		{Terms: []string{"common"}, With: []string{"rare7"}, Weight: 1},
	}, []string{"word4"}, 1000, 20)
	require.Len(t, found, 20)
	require.Equal(t, []string{"word7 rare7", "word7 rare7"}, found[:2])
	for _, other := range found[2:] {
		require.Contains(t, other, "word3 ")
	}
	few := likely([]db.WeighedToken{{Terms: []string{"rare7"}, Weight: 5}}, []string{"word4"}, 3, 7)
	require.Len(t, few, 7)
	for _, other := range few[2:] {
		require.Contains(t, other, "word4 ", "chunks with another word fill the rest")
	}
	require.Len(t, likely([]db.WeighedToken{{Terms: []string{"word3"}, Weight: 5}}, []string{"word4"}, 3, 3), 3)
	held := chunksWith(t, tenant, datasets, "rare7")
	require.Len(t, held, 2)
	require.Equal(t, []db.HeldTerm{{Place: 0, Positions: []uint16{3}}}, held[0].Held)

	_, err := tenant.Tokens(t.Context(), datasets, model.UnknownLanguages, wordsOf("rare7", "common"))
	require.NoError(t, err)

	// Postgres updates its statistics some time after the chunks are written, and searches must not wait for that.
	indexes := map[string]string{
		"WITH hit": "chunks_search_idx", "AS each_term": "dataset_terms_pkey",
	}
	requireIndexes(t, conn, asked.asked, indexes)
	_, err = conn.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	indexes["AND id = asked.id"] = "chunks_pkey"
	requireIndexes(t, conn, asked.asked, indexes)
	require.Len(t, likely(nil, nil, 3, 9), 9, "any chunks fill the rest")
}

// requireIndexes requires that statements use indexes when a Tenant runs them. indexes maps a fragment of statements to
// their index.
func requireIndexes(t *testing.T, conn *pgx.Conn, statements []string, indexes map[string]string) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	boundByPolicies(t, conn)
	for fragment, index := range indexes {
		var plan strings.Builder
		for _, statement := range statements {
			if strings.Contains(statement, fragment) {
				plan.WriteString(strings.Join(explained(t, conn, statement), "\n"))
			}
		}
		require.Contains(t, plan.String(), index)
		require.NotContains(t, plan.String(), "Seq Scan")
		require.NotContains(t, plan.String(), "chunks_position_key")
	}
	require.NoError(t, tx.Rollback(t.Context()))
}

// explained returns the plan of a statement. If the statement has parameters, the plan is the generic one, on a
// connection for reads.
func explained(t *testing.T, conn *pgx.Conn, statement string) []string {
	t.Helper()
	values := 0
	for strings.Contains(statement, fmt.Sprintf("$%d", values+1)) {
		values++
	}
	if values > 0 {
		_, err := conn.Exec(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "PREPARE explained AS "+statement)
		require.NoError(t, err)
		defer func() {
			_, err := conn.Exec(t.Context(), "DEALLOCATE explained; RESET enable_seqscan")
			require.NoError(t, err)
		}()
		statement = "EXECUTE explained (NULL" + strings.Repeat(", NULL", values-1) + ")"
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+statement)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

// The version of a dataset's vocabulary changes with its terms.
func TestVocabularyVersionFollowsItsTerms(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	dataset, other := newDataset(t, tenant), newDataset(t, tenant)
	chat := newChat(t, tenant, dataset.ID, other.ID)
	versions := map[string]bool{}
	// requireTerms requires the terms, and a version that has not occurred before.
	requireTerms := func(terms ...string) {
		t.Helper()
		vocabularies, err := tenant.Vocabularies(t.Context(), []string{dataset.ID, other.ID}, 1<<20)
		require.NoError(t, err)
		require.Len(t, vocabularies, 2)
		searched, err := tenant.SearchedDatasets(t.Context(), chat.ID)
		require.NoError(t, err)
		for _, v := range vocabularies {
			i := slices.IndexFunc(searched, func(s db.SearchedDataset) bool { return s.ID == v.DatasetID })
			require.Equal(t, searched[i].Version, v.Version)
			if v.DatasetID == other.ID {
				require.Equal(t, dataset.CompanyID+" 0", v.Version)
				require.Empty(t, v.Terms)
				continue
			}
			require.ElementsMatch(t, terms, strings.Fields(v.Terms))
			require.False(t, versions[v.Version], "another version")
			versions[v.Version] = true
		}
	}
	requireTerms()
	gone, err := tenant.Vocabularies(t.Context(), []string{"gone"}, 1<<20)
	require.NoError(t, err)
	require.Empty(t, gone)
	first, second := addDocument(t, tenant, dataset.ID, "a"), addDocument(t, tenant, dataset.ID, "b")
	finishDocument(t, tenant, first, "red pear")
	requireTerms("red", "pear")
	finishDocument(t, tenant, second, "red plum")
	requireTerms("red", "pear", "plum")
	for bytes, want := range map[int]string{2: "", 2*db.BytesPerTerm + 7: "red pear"} {
		cut, err := tenant.Vocabularies(t.Context(), []string{dataset.ID}, bytes)
		require.NoError(t, err)
		require.Equal(t, strings.Fields(want), strings.Fields(cut[0].Terms), "those that most chunks hold come first")
	}
	_, err = tenant.ReindexDocument(t.Context(), first.ID)
	require.NoError(t, err)
	finishDocument(t, tenant, readDocument(t, tenant, first.ID), "fig")
	requireTerms("red", "plum", "fig")
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: second.ID}))
	requireTerms("fig")
}

func TestChunksWithoutFullTextAreFound(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn, migrator := connect(t, address), newMigrator(t, address)
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	dataset := newDataset(t, tenant)
	finishDocument(t, tenant, addDocument(t, tenant, dataset.ID, "a"),
		"They were delivered at 12,50 by example.com with v1.2", "Elle est remboursee")
	for schema, err := migrator.Schema(t.Context()); schema.Current >= 10; schema, err = migrator.Schema(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(t.Context()))
	}
	// An older program stored these terms.
	for position, terms := range []string{`{"12,50",at,by,deliv,deliver,delivered,example.com,they,v1.2,were,with}`,
		"{elle,est,rembours,remboursee}"} {
		_, err := conn.Exec(t.Context(), "UPDATE chunks SET search = array_to_tsvector($1::text[]) WHERE position = $2",
			terms, position)
		require.NoError(t, err)
	}
	require.NoError(t, migrator.Up(t.Context()))
	requireCorrectTerms(t, conn)
	for position, words := range [][]string{{"12.50", "at", "deliver", "delivering", "were", "example", "com", "v1", "2"},
		{"rembourse", "remboursements", "est"}} {
		tokens, err := tenant.Tokens(t.Context(), []string{dataset.ID}, model.UnknownLanguages, wordsOf(words...))
		require.NoError(t, err)
		for _, token := range tokens {
			found := chunksWith(t, tenant, []string{dataset.ID}, token.Terms...)
			require.Len(t, found, 1, token.Word)
			require.EqualValues(t, position, found[0].Position, token.Word)
			require.Equal(t, 1, token.Chunks, token.Word)
		}
	}
}
