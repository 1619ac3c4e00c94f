package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// library is a company with one chat.
type library struct {
	t      testing.TB
	base   *knowledge.Base
	store  *db.Store
	tenant *db.Tenant
	chat   *model.KnowledgeBaseChat
}

// newLibrary returns a chat with a dataset for each list of documents. Each line of a document becomes a chunk.
func newLibrary(t testing.TB, o knowledge.Options, store *db.Store, datasets ...[]string) library {
	t.Helper()
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	l := library{t: t, base: knowledge.New(o), store: store, tenant: store.Tenant(company.ID)}
	var ids []string
	table := "table"
	for _, documents := range datasets {
		dataset, err := l.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "A dataset", ChunkMethod: &table})
		require.NoError(t, err)
		ids = append(ids, dataset.ID)
		for i, text := range documents {
			l.add(dataset.ID, fmt.Sprintf("%d.csv", i), text)
		}
	}
	l.chat, err = l.tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
		DatasetIds: ids})
	require.NoError(t, err)
	return l
}

func (l library) add(datasetID, name, text string) *model.Document {
	l.t.Helper()
	// This adds a column without a title, and an empty column.
	text = ",\n" + strings.ReplaceAll(text, "\n", ",\n") + ",\n"
	d, err := l.base.AddDocument(l.t.Context(), l.tenant, model.AddDocumentInput{DatasetID: datasetID, Name: &name,
		Text: &text})
	require.NoError(l.t, err)
	require.NoError(l.t, l.base.Index(l.t.Context(), l.tenant, d.IndexingID, 1))
	d, err = l.tenant.Document(l.t.Context(), d.ID)
	require.NoError(l.t, err)
	require.Equal(l.t, model.DocumentStatusReady, d.Status)
	return d
}

func (l library) ask(question string) []*model.RetrievedChunk {
	l.t.Helper()
	found, err := l.base.Retrieve(l.t.Context(), l.tenant, l.chat, question)
	require.NoError(l.t, err)
	return found
}

// texts returns the contents of the chunks found.
func texts(found []*model.RetrievedChunk) []string {
	texts := []string{}
	for _, f := range found {
		texts = append(texts, strings.TrimSpace(f.Content))
	}
	return texts
}

var shop = []string{
	"Orders are delivered within three days.",
	"Returned goods are refunded within ten days.",
	"Our shop in Lyon opens at nine.",
	"Les remboursements sont effectués sous dix jours.",
	"La livraison est gratuite à partir de cinquante euros.",
}

func TestRetrieveFindsWords(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), shop[:3], shop[3:])
	for question, want := range map[string]string{
		"delivery": shop[0],
		"When will I be refunded for my returns?": shop[1],
		"opening hours of the shop in lyon":       shop[2],
		"Quand serai-je rembourse ?":              shop[3],
		"LIVRAISON gratuité":                      shop[4],
		// misspelled words
		"refnuded":                shop[1],
		"remboursemnts":           shop[3],
		"is the livrasion cheap?": shop[4],
	} {
		found := l.ask(question)
		require.NotEmpty(t, found, question)
		require.Equal(t, want, texts(found)[0], question)
		require.NotNil(t, found[0].Document)
		require.Nil(t, found[0].VectorSimilarity)
		require.Equal(t, found[0].TermSimilarity, found[0].Score)
	}
	require.Empty(t, l.ask("xylophone"))
	require.Empty(t, l.ask("?!"))
	require.InDelta(t, 1.0, l.ask("refunded goods")[0].Score, 1e-9)
	misspelled, err := l.base.Examine(t.Context(), l.tenant, l.chat, "refnuded", 0)
	require.NoError(t, err)
	right, err := l.base.Examine(t.Context(), l.tenant, l.chat, "refunded", 0)
	require.NoError(t, err)
	require.InDelta(t, 1-1.0/8, misspelled[0].MatchedTerms[0].Credit/right[0].MatchedTerms[0].Credit, 1e-9)
}

func TestRetrieveFollowsItsSettings(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"red apples\ngreen apples\nred pears\nblue plums",
		"red apples"})
	settings := &l.chat.PromptSettings
	settings.SimilarityThreshold = 0
	found := l.ask("red apples")
	require.Equal(t, []string{"red apples", "red apples", "green apples", "red pears", "blue plums"}, texts(found),
		"by score, then document and position")
	require.Less(t, found[0].DocumentID, found[1].DocumentID)
	require.Zero(t, found[4].Score)
	require.Equal(t, []string{"red apples", "green apples", "red pears", "blue plums", "red apples"}, texts(l.ask("?!")),
		"without words, the order is by document and position")
	settings.SimilarityThreshold = 1e-9
	require.Len(t, l.ask("red apples"), 4)
	require.Empty(t, l.ask("?!"))
	settings.SimilarityThreshold = 0.9
	require.Equal(t, []string{"red apples", "red apples"}, texts(l.ask("red apples")))
	settings.TopN = 1
	require.Len(t, l.ask("red apples"), 1)

	_, err := l.base.Retrieve(t.Context(), l.tenant, l.chat, "")
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.BadInput, known.Code)
}

func TestChunksBelowTheThresholdAreMarked(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"red apples\ngreen apples\nred pears\nblue " +
		"plums\nold aples"})
	settings := &l.chat.PromptSettings
	settings.SimilarityThreshold, settings.TopN = 0.9, 1
	ask := func(question string, below int32) (marked []string) {
		found, err := l.base.Examine(t.Context(), l.tenant, l.chat, question, below)
		require.NoError(t, err)
		for i, f := range found {
			require.Equal(t, f.Score < settings.SimilarityThreshold, f.IsBelowThreshold)
			marked = append(marked, fmt.Sprint(texts(found)[i], " ", f.IsBelowThreshold))
			sum := 0.0
			for _, term := range f.MatchedTerms {
				sum += term.Weight * term.Credit
			}
			require.InDelta(t, f.TermSimilarity, min(sum, 1), 1e-9)
		}
		return marked
	}
	require.Equal(t, []string{"red apples false"}, ask("red apples", 0))
	require.Equal(t, []string{"red apples false", "green apples true"}, ask("red apples", 1), "apples is the longer word")
	require.Equal(t, []string{"red apples false", "green apples true", "red pears true"}, ask("red apples", 100),
		"plums hold neither word")
	require.Empty(t, ask("xylophone", 100))

	found, err := l.base.Examine(t.Context(), l.tenant, l.chat, "The GREEN aplpes?", 100)
	require.NoError(t, err)
	require.Equal(t, "green apples", texts(found)[0])
	terms := found[0].MatchedTerms
	require.Len(t, terms, 2)
	require.Equal(t, []string{"green", "aplpes"}, []string{terms[0].Word, terms[1].Word}, "the highest weight first")
	require.InDelta(t, terms[0].Credit*(1-1.0/6), terms[1].Credit, 1e-9)
	// Of five chunks, one is green and two are about apples. The stop word gets the mean rarity of these two words.
	green, apples := math.Log2(6)*math.Log(1+4.5/1.5), math.Log2(7)*math.Log(1+3.5/2.5)
	average := (green + apples) / (math.Log2(6) + math.Log2(7))
	require.InDelta(t, green/(green+apples+0.1*average), terms[0].Weight, 1e-9)
	require.InDelta(t, apples/(green+apples+0.1*average), terms[1].Weight, 1e-9)
	for _, below := range []int32{-1, 101} {
		_, err := l.base.Examine(t.Context(), l.tenant, l.chat, "red", below)
		var known *model.Error
		require.ErrorAs(t, err, &known)
		require.Contains(t, known.Fields, "belowThreshold")
	}
}

func TestRareWordsWeighMore(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"remboursement rapide\nremboursement " +
		"lent\nremboursement partiel\nle colis\nle jour"})
	require.Equal(t, "le colis", texts(l.ask("remboursement du colis"))[0], "the shorter word is in one chunk")
	for _, base := range []*knowledge.Base{l.base, l.base.Narrow(1)} {
		l.base = base
		require.Equal(t, "le colis", texts(l.ask("remboursement colis"))[0])
	}
	require.InDelta(t, 1.0, l.ask("remboursement")[0].Score, 1e-9, "a score does not exceed 1")
}

// Chunks with equal scores are in the order of documents and positions, whatever order they were created in.
func TestWindowTakesEqualChunksByDocumentAndPosition(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"red apples\ngreen apples", "blue apples"})
	l.chat.PromptSettings.TopN = 1
	first := l.ask("apples")
	require.Equal(t, []string{"red apples"}, texts(first))
	again, err := l.tenant.ReindexDocument(t.Context(), first[0].DocumentID)
	require.NoError(t, err)
	require.NoError(t, l.base.Index(t.Context(), l.tenant, again.IndexingID, 1))
	found, err := l.base.Narrow(1).Retrieve(t.Context(), l.tenant, l.chat, "apples")
	require.NoError(t, err)
	require.Equal(t, []string{"red apples"}, texts(found))
}

// statements counts the statements sent to the database.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	// Signals of recently added documents are sent without a request.
	if !strings.Contains(query.SQL, "pg_notify") && !strings.HasPrefix(query.SQL, "LISTEN") {
		s.n.Add(1)
	}
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		ctx = s.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: query.SQL})
	}
	return ctx
}

func (*statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func TestRetrieveTakesAConstantNumberOfStatements(t *testing.T) {
	t.Parallel()
	counter := &statements{}
	for kept, store := range dbtest.Stores(t, db.Options{Tracer: counter}) {
		embedded := knowledge.Options{Embedder: &lengths{name: "m"}}
		few := newLibrary(t, embedded, store, shop[:1])
		many := newLibrary(t, embedded, store, shop[:2], shop[2:4], shop[4:])
		count := func(l library, question string) int64 {
			before := counter.n.Load()
			require.NotEmpty(t, l.ask(question))
			return counter.n.Load() - before
		}
		require.Equal(t, count(few, "orders"), count(many, "orders delivered refunded livraison shop Lyon"), kept)
		require.Equal(t, count(few, "ordres"), count(many, "ordres delivrered refnuded livrasion"), kept)
		require.LessOrEqual(t, count(many, "ordres delivrered refnuded livrasion"), int64(10), kept)
	}
}

// lengths embeds a text by how often it contains an "e" or an "i". It fails on request.
type lengths struct {
	name string
	err  error
}

func (l *lengths) Name() string { return l.name }

func (l *lengths) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{float32(strings.Count(text, "e")), -float32(strings.Count(text, "i")), 0}
	}
	return vectors, l.err
}

func TestVectorsContributeToTheScore(t *testing.T) {
	t.Parallel()
	for kept, store := range dbtest.Stores(t, db.Options{}) {
		t.Run(kept, func(t *testing.T) { testVectorsAreAPartOfTheScore(t, store) })
	}
}

func testVectorsAreAPartOfTheScore(t *testing.T, store *db.Store) {
	t.Helper()
	embedder := &lengths{name: "m"}
	l := newLibrary(t, knowledge.Options{Embedder: embedder}, store, []string{"eee\niii\nei ei", "tree"})
	l.chat.PromptSettings.SimilarityThreshold = 0.05
	l.chat.PromptSettings.KeywordsSimilarityWeight = 0.25
	for range 2 {
		found := l.ask("tree")
		require.Equal(t, []string{"tree", "eee", "ei ei"}, texts(found))
		require.InDelta(t, 1, found[0].Score, 1e-6)
		require.InDelta(t, 0.75, found[1].Score, 1e-6)
		require.InDelta(t, 0.75*0.70710678, found[2].Score, 1e-6)
		require.Zero(t, found[2].TermSimilarity)
		require.InDelta(t, 0.70710678, *found[2].VectorSimilarity, 1e-6)
	}
	// A question with a zero vector is answered by its words.
	found := l.ask("bush eee")
	require.Equal(t, []string{"eee", "tree"}, texts(found)[:2])
	require.Empty(t, l.ask("bush"))
	l.chat.PromptSettings.KeywordsSimilarityWeight = 1
	require.Nil(t, l.ask("tree")[0].VectorSimilarity)
	l.chat.PromptSettings.KeywordsSimilarityWeight = 0.25
	embedder.err = errors.New("no")
	l.base = knowledge.New(knowledge.Options{Embedder: embedder, Log: slog.New(slog.DiscardHandler)})
	found = l.ask("tree")
	require.Equal(t, []string{"tree"}, texts(found), "a model that fails does not stop a conversation")
	require.Nil(t, found[0].VectorSimilarity)
}

func TestVectorsOfAnotherModelAreNotCompared(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{Embedder: &lengths{name: "old"}}, dbtest.New(t), []string{"tree"})
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	l.base = knowledge.New(knowledge.Options{Embedder: &lengths{name: "new"}})
	require.Nil(t, l.ask("tree")[0].VectorSimilarity, "vectors of another model are not compared")
	l.add(datasets[0].ID, "b.csv", "bush")
	_, err = l.base.Retrieve(t.Context(), l.tenant, l.chat, "tree")
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
	require.Contains(t, known.Message, "new, old")

	// After a change of the model, Refresh indexes documents that have vectors of the old model again.
	require.NoError(t, l.base.Refresh(t.Context(), l.store))
	documents, err := l.tenant.Documents(t.Context(), model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	pending := 0
	for _, d := range documents.Nodes {
		if d.Status == model.DocumentStatusPending {
			pending++
			require.NoError(t, l.base.Index(t.Context(), l.tenant, d.IndexingID, 1))
		}
	}
	require.Equal(t, 1, pending)
	require.NotNil(t, l.ask("tree")[0].VectorSimilarity)
}

func TestDocumentFailsWhenItCannotBeEmbedded(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{})
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	failure := &llm.Error{Cause: llm.Rejected, Message: "model m: the provider answered 400 Bad Request"}
	base := knowledge.New(knowledge.Options{Embedder: &lengths{name: "m", err: failure},
		Log: slog.New(slog.DiscardHandler)})
	d, err := base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID, Name: new("a"),
		Text: new("tree")})
	require.NoError(t, err)
	for attempt := range int32(2) {
		require.ErrorIs(t, base.Index(t.Context(), l.tenant, d.IndexingID, attempt+1), failure, "it is tried again")
	}
	require.NoError(t, base.Index(t.Context(), l.tenant, d.IndexingID, 3))
	d, err = l.tenant.Document(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusFailed, d.Status)
	require.Equal(t, "it could not be embedded: model m: the provider answered 400 Bad Request", *d.Error)
}

func TestDistinctWordsOfADocumentAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1_000_000 {
		text.WriteString(strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, strconv.Itoa(i)) + " ")
	}
	pieces := []knowledge.Piece{{Content: text.String()}, {Content: "bcd def jjj"}}
	chunks, err := knowledge.ChunksOf(t.Context(), pieces)
	require.NoError(t, err, "a million words, three of them twice")
	require.Len(t, chunks, 2)
	_, err = knowledge.ChunksOf(t.Context(), append(pieces, knowledge.Piece{Content: "unheard"}))
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
	require.Equal(t, "the text has more than 1000000 different words; split the file", known.Message)
}
