package knowledge

import (
	"context"
	"fmt"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// searchedBelow is how many chunks below the threshold are searched for the right one.
	searchedBelow = 20
	// shownFound is the number of chunks to show for a question.
	shownFound = 3
)

// Evaluate asks the chat the labeled questions of its datasets, or of one dataset: the first questions after a cursor,
// 1 to model.MaxEvaluated. Each question costs as much as Examine.
func (b *Base) Evaluate(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat, datasetID, after *string,
	first int32) (*model.RetrievalEvaluation, error) {
	if err := model.ValidateEvaluation(first); err != nil {
		return nil, err
	}
	if datasetID != nil {
		if _, err := t.Dataset(ctx, *datasetID); err != nil {
			return nil, err
		}
	}
	questions, count, err := t.LabelledQuestionsOfChat(ctx, chat.ID, datasetID, after, first)
	if err != nil {
		return nil, err
	}
	evaluation := &model.RetrievalEvaluation{TotalCount: int32(count), Questions: []*model.EvaluatedQuestion{}}
	if len(questions) > int(first) {
		questions = questions[:first]
		evaluation.EndCursor = &questions[first-1].ID
	}
	for _, q := range questions {
		evaluated, err := b.evaluate(ctx, t, chat, q)
		if err != nil {
			return nil, err
		}
		evaluation.Add(evaluated)
	}
	return evaluation, nil
}

func (b *Base) evaluate(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat,
	q *model.LabelledQuestion) (*model.EvaluatedQuestion, error) {
	// Unlike Examine, this does not call observe, because only questions of conversations are counted.
	found, err := b.retrieve(model.WithMemoryBudget(ctx, nil), t, chat, q.Question, searchedBelow)
	if err != nil {
		return nil, err
	}
	evaluated := &model.EvaluatedQuestion{LabelledQuestion: q, Found: found[:min(len(found), shownFound)]}
	place, right := 0, (*model.RetrievedChunk)(nil)
	for i, c := range found {
		if q.IsAnsweredBy(c) {
			place, right = i+1, c
			break
		}
	}
	if right != nil && !right.IsBelowThreshold && place <= model.EvaluatedRanks {
		evaluated.Rank = new(int32(place))
	}
	if place != 1 || right.IsBelowThreshold {
		reason := whyMissed(chat.PromptSettings, found, right, place)
		if right == nil && q.Passage != nil {
			switch isThere, err := t.HasPassage(ctx, q.DocumentID, *q.Passage); {
			case err != nil:
				return nil, err
			case !isThere:
				reason = "the passage is in no chunk of the document"
			}
		}
		evaluated.Reason = &reason
	}
	return evaluated, nil
}

// whyMissed returns why a right chunk is not the first, or was not found.
func whyMissed(settings model.PromptSettings, found []*model.RetrievedChunk, right *model.RetrievedChunk,
	place int) string {
	switch {
	case right == nil && len(found) == 0:
		return "no chunk contains a word of the question"
	case right == nil && len(aboveThreshold(found)) >= int(settings.TopN):
		return fmt.Sprintf("at least %d other chunks (topN) have a higher score", settings.TopN)
	case right == nil:
		return "the right chunk contains no word of the question, or its score is far below the threshold"
	case right.IsBelowThreshold:
		return fmt.Sprintf("the score of the right chunk, %.3f, is below similarityThreshold, %g", right.Score,
			settings.SimilarityThreshold)
	}
	return fmt.Sprintf("the right chunk has rank %d and the score %.3f; the first result has %.3f", place, right.Score,
		found[0].Score)
}
