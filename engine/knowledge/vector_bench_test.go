package knowledge_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// topics embeds a text near one of a few directions, with much noise. The direction and the noise depend on the text.
type topics struct{ dimensions int }

func (topics) Name() string { return "topics" }

func (e topics) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(text))
		topic, noise := rand.New(rand.NewPCG(hash.Sum64()%50, 0)), rand.New(rand.NewPCG(hash.Sum64(), 1))
		vectors[i] = make([]float32, e.dimensions)
		for j := range vectors[i] {
			vectors[i][j] = float32(topic.NormFloat64() + noise.NormFloat64())
		}
	}
	return vectors, nil
}

// shelve stores chunks as documents of 100 chunks. Each chunk has the vector and the first word of its text.
func shelve(t testing.TB, tenant *db.Tenant, datasetID string, embedder topics, texts []string) {
	t.Helper()
	base := knowledge.New(knowledge.Options{})
	for some := range slices.Chunk(texts, 100) {
		d, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{DatasetID: datasetID, Name: new("A document"),
			Text: new("x")})
		require.NoError(t, err)
		d, err = tenant.ClaimDocument(t.Context(), d.IndexingID, 1)
		require.NoError(t, err)
		vectors, err := embedder.Embed(t.Context(), some)
		require.NoError(t, err)
		chunks := make([]*model.Chunk, len(some))
		for i, text := range some {
			chunks[i] = &model.Chunk{Content: text, Words: knowledge.WordsOf(strings.Fields(text)[0]),
				Embedding: knowledge.Unit(vectors[i])}
		}
		name := embedder.Name()
		d.EmbeddingModel = &name
		require.NoError(t, tenant.FinishDocument(t.Context(), d, chunks))
	}
}

// BenchmarkVectors asks 8 questions at a time about 10,000 and about 100,000 chunks that only vectors distinguish.
func BenchmarkVectors(b *testing.B) {
	const atOnce = 8
	embedder := topics{384}
	for _, chunks := range []int{10_000, 100_000} {
		for kept, store := range dbtest.Stores(b, db.Options{}) {
			b.Run(fmt.Sprintf("%s/%d", kept, chunks), func(b *testing.B) {
				company, err := store.CreateCompany(b.Context(), "A company")
				require.NoError(b, err)
				tenant := store.Tenant(company.ID)
				dataset, err := tenant.CreateDataset(b.Context(), model.CreateDatasetInput{Name: "A dataset"})
				require.NoError(b, err)
				chat, err := tenant.CreateKnowledgeBaseChat(b.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
					DatasetIds: []string{dataset.ID}})
				require.NoError(b, err)
				chat.PromptSettings.KeywordsSimilarityWeight = 0
				texts := make([]string, chunks)
				for i := range texts {
					texts[i] = fmt.Sprint("chunk ", i)
				}
				shelve(b, tenant, dataset.ID, embedder, texts)
				questions := make([]string, 100)
				for i := range questions {
					questions[i] = fmt.Sprint("question ", i)
				}
				base := knowledge.New(knowledge.Options{Embedder: embedder})
				ask(b, base, tenant, chat, questions[:1], 1)
				for b.Loop() {
					ask(b, base, tenant, chat, questions, atOnce)
				}
			})
		}
	}
}
