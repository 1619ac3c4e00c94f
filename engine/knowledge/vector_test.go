package knowledge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// directions embeds a text as the numbers in it. So texts can be equal, opposite, or have a zero vector.
type directions struct{}

func (directions) Name() string { return "directions" }

func (directions) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 5)
		for j, field := range strings.Fields(text)[1:] {
			_, _ = fmt.Sscan(field, &vectors[i][j])
		}
	}
	return vectors, nil
}

// text returns a word and a direction. There are few directions, so texts share them.
func text(random *rand.Rand) string {
	words := []string{"red", "green", "blue", "apple", "pear"}
	numbers := make([]string, 5)
	for i := range numbers {
		numbers[i] = fmt.Sprint(random.IntN(4) - 2)
	}
	return words[random.IntN(len(words))] + " " + strings.Join(numbers, " ")
}

func TestVectorStorageDoesNotChangeAnswers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	datasets := make([][]string, 3)
	for i := range 30 {
		lines := make([]string, 20)
		for j := range lines {
			lines[j] = text(random)
		}
		datasets[i%3] = append(datasets[i%3], strings.Join(lines, "\n"))
	}
	libraries := map[string]library{}
	for kept, store := range dbtest.Stores(t, db.Options{}) {
		l := newLibrary(t, knowledge.Options{Embedder: directions{}}, store, datasets...)
		l.chat.PromptSettings.SimilarityThreshold, l.chat.PromptSettings.TopN = 0, 30
		libraries[kept] = l
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		question := text(rand.New(rand.NewPCG(seed, 5)))
		weight := rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "weight")
		window := rapid.SampledFrom([]int{30, 40, 120}).Draw(t, "window")
		answers := map[string][]string{}
		for kept, l := range libraries {
			l.chat.PromptSettings.KeywordsSimilarityWeight = weight
			found, err := l.base.Narrow(window).Retrieve(context.Background(), l.tenant, l.chat, question)
			require.NoError(t, err)
			answers[kept] = shownAnswer(found)
			whole, err := l.base.Retrieve(context.Background(), l.tenant, l.chat, question)
			require.NoError(t, err)
			if weight == 0 {
				require.Equal(t, shownAnswer(whole), answers[kept], "every vector is compared")
			}
			answers["whole "+kept] = shownAnswer(whole)
		}
		if len(libraries) == 2 {
			require.Equal(t, answers["arrays"], answers["pgvector"])
			require.Equal(t, answers["whole arrays"], answers["whole pgvector"])
		}
	})
}

// shownAnswer returns the text of an answer, without ids.
func shownAnswer(found []*model.RetrievedChunk) []string {
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = fmt.Sprint(f.Document.Name, f.Position, f.Content, f.Score, f.TermSimilarity, *f.VectorSimilarity)
	}
	return lines
}

// The vectors have two lengths, because the model changed but kept its name.
func TestVectorsOfAnotherLengthAreNotNear(t *testing.T) {
	t.Parallel()
	for kept, store := range dbtest.Stores(t, db.Options{}) {
		company, err := store.CreateCompany(t.Context(), kept)
		require.NoError(t, err)
		tenant := store.Tenant(company.ID)
		dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "A dataset"})
		require.NoError(t, err)
		chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
			DatasetIds: []string{dataset.ID}})
		require.NoError(t, err)
		shelve(t, tenant, dataset.ID, topics{8}, []string{"short one", "short two"})
		shelve(t, tenant, dataset.ID, topics{16}, []string{"long one", "long two"})
		chat.PromptSettings.KeywordsSimilarityWeight, chat.PromptSettings.SimilarityThreshold = 0, 0
		for _, base := range []*knowledge.Base{knowledge.New(knowledge.Options{Embedder: topics{8}}),
			knowledge.New(knowledge.Options{Embedder: topics{8}}).Narrow(5)} {
			found, err := base.Retrieve(t.Context(), tenant, chat, "short one")
			require.NoError(t, err)
			require.Equal(t, "short one", found[0].Content)
			require.InDelta(t, 1, found[0].Score, 1e-6)
			for _, f := range found {
				require.Equal(t, strings.HasPrefix(f.Content, "long"), *f.VectorSimilarity == 0, f.Content)
			}
		}
	}
}
