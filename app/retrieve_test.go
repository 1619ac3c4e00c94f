package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestRetrieve(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Retrieval")
	dataset := newDatasetOf(t, tenant)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Chat", DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	for name, text := range map[string]string{"Refunds": "A refund is paid within fourteen days.", "Hours": "We open at nine.", "Parking": "Parking costs five euros."} {
		g.must(t, key, addText, map[string]any{"in": map[string]any{"datasetId": dataset.ID, "name": name, "text": text}}, nil)
	}
	g.startWorkers(t)
	g.settled(t, key, dataset.ID)
	var read struct {
		KnowledgeBaseChat struct {
			Retrieve []struct {
				Content                                 string
				Score, TermSimilarity, VectorSimilarity *float64
				Document                                struct{ Name string }
			}
		}
	}
	g.must(t, key, `query ($id: ID!) { knowledgeBaseChat(id: $id) { retrieve(question: "When are refunds paid?") {
		content score termSimilarity vectorSimilarity document { name } } } }`, map[string]any{"id": chat.ID}, &read)
	require.NotEmpty(t, read.KnowledgeBaseChat.Retrieve)
	best := read.KnowledgeBaseChat.Retrieve[0]
	require.Equal(t, "Refunds", best.Document.Name)
	require.Equal(t, best.TermSimilarity, best.Score)
	require.Nil(t, best.VectorSimilarity)
	a := g.query(t, key, `query ($id: ID!) { knowledgeBaseChat(id: $id) { retrieve(question: "") { content } } }`, map[string]any{"id": chat.ID})
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())
}
