package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func TestRetrievalEvaluationRanksAnswers(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Evaluated")
	table := "table"
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "House", ChunkMethod: &table})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	text := ",\nThe kettle is descaled with vinegar.,\nThe kettle has a warranty of two years.,\nLampshades are dusted.,\n"
	base := knowledge.New(knowledge.Options{})
	document, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{DatasetID: dataset.ID,
		Name: new("house.csv"), Text: &text})
	require.NoError(t, err)
	require.NoError(t, base.Index(t.Context(), tenant, document.IndexingID, 1))

	const add = `mutation ($dataset: ID!, $questions: [LabelledQuestionInput!]!) {
		addLabelledQuestions(input: {datasetId: $dataset, questions: $questions}) { labelledQuestions { id question
			documentName passage } } }`
	type question = map[string]any
	var added struct {
		AddLabelledQuestions struct {
			LabelledQuestions []struct{ ID, Question, DocumentName string }
		}
	}
	g.must(t, key, add, map[string]any{"dataset": dataset.ID, "questions": []question{
		{"question": "How is a kettle descaled?", "documentName": "house.csv", "passage": "is  descaled\nwith vinegar"},
		{"question": "What warranty has the kettle?", "documentId": document.ID, "passage": "is descaled with vinegar"},
		{"question": "lampshades by the xylophone, trombones, accordions, saxophones, clarinets, trumpets, bassoons and " +
			"harmoniums?", "documentId": document.ID},
	}}, &added)
	require.Len(t, added.AddLabelledQuestions.LabelledQuestions, 3)
	require.Equal(t, "house.csv", added.AddLabelledQuestions.LabelledQuestions[1].DocumentName)

	type evaluation struct {
		EvaluateRetrieval struct {
			TotalCount, AskedCount, FirstHitCount, HitCount int
			ReciprocalRankSum                               float64
			EndCursor                                       *string
			Questions                                       []struct {
				LabelledQuestion struct{ Question string }
				Rank             *int
				Reason           *string
				Found            []struct{ Content string }
			}
		}
	}
	evaluate := func(arguments string) (e evaluation) {
		t.Helper()
		g.must(t, key, `query ($chat: ID!) { evaluateRetrieval(knowledgeBaseChatId: $chat`+arguments+`) {
			totalCount askedCount firstHitCount hitCount reciprocalRankSum endCursor questions { labelledQuestion { question } rank reason found { content } } } }`,
			map[string]any{"chat": chat.ID}, &e)
		return e
	}
	e := evaluate("").EvaluateRetrieval
	require.Equal(t, []int{3, 3, 1, 2}, []int{e.TotalCount, e.AskedCount, e.FirstHitCount, e.HitCount})
	require.InDelta(t, 1.5, e.ReciprocalRankSum, 1e-9)
	require.Equal(t, 1, *e.Questions[0].Rank)
	require.Nil(t, e.Questions[0].Reason)
	require.Equal(t, 2, *e.Questions[1].Rank)
	require.Contains(t, *e.Questions[1].Reason, "has rank 2")
	require.Nil(t, e.Questions[2].Rank)
	require.Contains(t, *e.Questions[2].Reason, "below similarityThreshold, 0.2")
	require.Len(t, e.Questions[1].Found, 2)

	require.Equal(t, 3, evaluate(`, settings: {similarityThreshold: 0.05}`).EvaluateRetrieval.HitCount,
		"settings are tried")
	first := evaluate(`, first: 2`).EvaluateRetrieval
	require.Equal(t, []int{3, 2}, []int{first.TotalCount, first.AskedCount})
	rest := evaluate(fmt.Sprintf(`, first: 2, after: %q`, *first.EndCursor)).EvaluateRetrieval
	require.Equal(t, 1, rest.AskedCount)
	require.Nil(t, rest.EndCursor)

	// Adding the same question again replaces it.
	g.must(t, key, add, map[string]any{"dataset": dataset.ID,
		"questions": []question{{"question": "What warranty has the kettle?", "documentName": "house.csv"}}}, &added)
	require.Equal(t, 2, evaluate("").EvaluateRetrieval.FirstHitCount)
	g.must(t, key, `mutation ($dataset: ID!, $ids: [ID!]!) { deleteLabelledQuestions(input: {datasetId: $dataset,
		ids: $ids}) { deletedIds } }`,
		map[string]any{"dataset": dataset.ID, "ids": []string{added.AddLabelledQuestions.LabelledQuestions[0].ID, "other"}},
		nil)
	require.Equal(t, 2, evaluate("").EvaluateRetrieval.TotalCount)

	// The characters of a passage may have other forms than those of the document.
	menu := ",\nDas Café öffnet um 9 Uhr.,\nDer Garten öffnet um 12 Uhr.,\n"
	other, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{DatasetID: dataset.ID,
		Name: new("menu.csv"), Text: &menu})
	require.NoError(t, err)
	require.NoError(t, base.Index(t.Context(), tenant, other.IndexingID, 1))
	g.must(t, key, add, map[string]any{"dataset": dataset.ID, "questions": []question{
		{"question": "Wann öffnet das Café?", "documentName": "menu.csv", "passage": "Cafe\u0301 o\u0308ffnet um\u3000\uff19 Uhr"},
		{"question": "Wann öffnet der Garten?", "documentName": "menu.csv", "passage": "um 13 Uhr"},
		{"question": "Xylophon?", "documentName": "menu.csv", "passage": "o\u0308ffnet um \uff19"},
	}}, &added)
	forms := map[string]string{}
	for _, q := range evaluate("").EvaluateRetrieval.Questions {
		if q.Reason != nil {
			forms[q.LabelledQuestion.Question] = *q.Reason
		}
	}
	require.NotContains(t, forms, "Wann öffnet das Café?")
	require.Equal(t, "the passage is in no chunk of the document", forms["Wann öffnet der Garten?"])
	require.Equal(t, "no chunk contains a word of the question", forms["Xylophon?"])
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: other.ID}))

	for _, wrong := range []question{
		{"question": "", "documentName": "house.csv"}, {"question": " ", "documentName": "house.csv"}, {"question": "Why?"},
		{"question": "Why?", "documentName": "house.csv", "passage": "\u00a0\n"},
		{"question": "Why?", "documentName": "other.csv"},
		{"question": "Why?", "documentName": "house.csv", "documentId": document.ID},
	} {
		a := g.query(t, key, add, map[string]any{"dataset": dataset.ID, "questions": []question{wrong}})
		require.Equal(t, []string{string(model.BadInput)}, a.codes(), wrong)
	}
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: document.ID}))
	require.Zero(t, evaluate("").EvaluateRetrieval.TotalCount, "questions are deleted with their document")
}

// A language model writes questions for passages. It may skip passages.
func TestQuestionsAreDrafted(t *testing.T) {
	t.Parallel()
	provider := startProvider(t, map[string][]fixture{"writer": {
		says(`{"questions":[{"passage":0,"question":"How long?"},{"passage":0,"question":"And again?"}]}`),
		says(`{"questions":[{"passage":1,"question":" How is it descaled? "}]}`),
		refuses(400, "invalid_request_error"),
	}})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Drafted")
	_, otherKey := g.company(t, "Other")
	table := "table"
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "House", ChunkMethod: &table})
	require.NoError(t, err)
	const draft = `mutation ($dataset: ID!, $count: Int! = 10) { draftLabelledQuestions(input: {datasetId: $dataset,
		count: $count}) {
		draftedQuestions { question documentId documentName passage } } }`
	type drafted struct {
		DraftLabelledQuestions struct {
			DraftedQuestions []struct{ Question, DocumentID, DocumentName, Passage string }
		}
	}
	long := strings.Repeat("Dust. ", 500)
	text := ",\nThe kettle is descaled with vinegar.,\n" + long + ",\n"
	base := knowledge.New(knowledge.Options{})
	document, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{DatasetID: dataset.ID,
		Name: new("house.csv"), Text: &text})
	require.NoError(t, err)
	require.NoError(t, base.Index(t.Context(), tenant, document.IndexingID, 1))
	empty, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Empty"})
	require.NoError(t, err)

	s := serve(t, address, key, provider.asks("writer"))
	var got drafted
	s.must(t, key, draft, map[string]any{"dataset": empty.ID}, &got)
	require.Empty(t, got.DraftLabelledQuestions.DraftedQuestions, "the model is not called")
	variables := map[string]any{"dataset": dataset.ID}
	s.must(t, key, draft, variables, &got)
	require.Len(t, got.DraftLabelledQuestions.DraftedQuestions, 1)
	first := got.DraftLabelledQuestions.DraftedQuestions[0]
	require.Equal(t, []string{"How is it descaled?", document.ID, "house.csv"}, []string{first.Question, first.DocumentID,
		first.DocumentName})
	require.LessOrEqual(t, len(first.Passage), model.MaxPassage)
	require.Len(t, provider.asked(t, "writer"), 2, "an answer with two questions for one passage is requested again")
	_, err = tenant.AddLabelledQuestions(t.Context(), model.AddLabelledQuestionsInput{DatasetID: dataset.ID,
		Questions: []*model.LabelledQuestionInput{
			{Question: first.Question, DocumentID: &first.DocumentID, Passage: &first.Passage},
		}})
	require.NoError(t, err)

	require.Equal(t, []string{"UPSTREAM_FAILED"}, s.query(t, key, draft, variables).codes())
	require.Equal(t, []string{"NOT_FOUND"}, s.query(t, otherKey, draft, variables).codes())
	require.Equal(t, []string{"BAD_INPUT"}, s.query(t, key, draft, map[string]any{"dataset": dataset.ID, "count": 21}).
		codes())
	g.url = serveStore(t, g.store)
	require.Equal(t, []string{"UNPROCESSABLE"}, g.query(t, key, draft, variables).codes(), "the offline model cannot")
}
