package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestRetrieveRanksMatchingChunks(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Retrieval")
	dataset := newDatasetOf(t, tenant)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	for name, text := range map[string]string{"Refunds": "A refund is paid within fourteen days.",
		"Hours": "We open at nine.", "Parking": "Parking costs five euros."} {
		g.must(t, key, addText, map[string]any{"in": map[string]any{"datasetId": dataset.ID, "name": name, "text": text}},
			nil)
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
	a := g.query(t, key, `query ($id: ID!) { knowledgeBaseChat(id: $id) { retrieve(question: "") { content } } }`,
		map[string]any{"id": chat.ID})
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())

	var tried struct {
		KnowledgeBaseChat struct {
			Retrieve, Without []struct {
				IsBelowThreshold bool
				Document         struct{ Name string }
				MatchedTerms     []struct {
					Word           string
					Weight, Credit float64
				}
			}
			PromptSettings struct{ SimilarityThreshold float64 }
		}
	}
	g.must(t, key, `query ($id: ID!) { knowledgeBaseChat(id: $id) {
		retrieve(question: "refund within weeks", settings: {similarityThreshold: 1}, belowThreshold: 1) {
			isBelowThreshold document { name } matchedTerms { word weight credit }
		}
		without: retrieve(question: "refund within weeks", settings: {similarityThreshold: 1}) { isBelowThreshold }
		promptSettings { similarityThreshold }
	} }`, map[string]any{"id": chat.ID}, &tried)
	require.Len(t, tried.KnowledgeBaseChat.Retrieve, 1)
	below := tried.KnowledgeBaseChat.Retrieve[0]
	require.True(t, below.IsBelowThreshold)
	require.Equal(t, "Refunds", below.Document.Name)
	require.Equal(t, "refund", below.MatchedTerms[0].Word)
	require.Empty(t, tried.KnowledgeBaseChat.Without)
	require.InDelta(t, 0.2, tried.KnowledgeBaseChat.PromptSettings.SimilarityThreshold, 1e-9, "nothing is saved")
	for _, test := range []struct{ arguments, code string }{
		{`settings: {topN: 101}`, "BAD_INPUT"}, {`belowThreshold: 101`, "BAD_INPUT"}, {`belowThreshold: -1`, "BAD_INPUT"},
		{`settings: {rerankModel: "none"}`, "UNPROCESSABLE"},
	} {
		a := g.query(t, key, `query ($id: ID!) { knowledgeBaseChat(id: $id) { retrieve(question: "x", `+test.arguments+
			`) { content } } }`, map[string]any{"id": chat.ID})
		require.Equal(t, []string{test.code}, a.codes(), test.arguments)
	}
}
