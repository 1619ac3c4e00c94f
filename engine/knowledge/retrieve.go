package knowledge

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Retrieve returns the chunks of the chat's datasets that answer a question, best first.
func (*Base) Retrieve(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat, question string) ([]*model.RetrievedChunk, error) {
	if err := model.ValidateQuestion(question); err != nil {
		return nil, err
	}
	chunks, err := t.ChunksOfChat(ctx, chat.ID)
	if err != nil {
		return nil, err
	}
	asked := Terms(question, "en")
	found := []*model.RetrievedChunk{}
	for _, c := range chunks {
		similarity := termSimilarity(asked, Terms(c.Content, "en"))
		if similarity > 0 && similarity >= chat.PromptSettings.SimilarityThreshold {
			found = append(found, &model.RetrievedChunk{Chunk: c, Score: similarity, TermSimilarity: similarity})
		}
	}
	slices.SortFunc(found, func(a, b *model.RetrievedChunk) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Position, b.Position))
	})
	found = found[:min(len(found), int(chat.PromptSettings.TopN))]
	return found, withDocuments(ctx, t, found)
}

// termSimilarity is the share of the question's terms, by weight, that a text holds.
func termSimilarity(asked, held map[string]float64) float64 {
	var all, both float64
	// In one order, so that equal questions have equal scores to the last digit.
	for _, term := range slices.Sorted(maps.Keys(asked)) {
		weight := asked[term]
		all += weight
		if _, holds := held[term]; holds {
			both += weight
		}
	}
	if all == 0 {
		return 0
	}
	return both / all
}

func withDocuments(ctx context.Context, t *db.Tenant, found []*model.RetrievedChunk) error {
	if len(found) == 0 {
		return nil
	}
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.DocumentID
	}
	documents, err := t.DocumentsByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, f := range found {
		at := slices.IndexFunc(documents, func(d *model.Document) bool { return d.ID == f.DocumentID })
		if at < 0 {
			return model.Missing("document", f.DocumentID) // deleted meanwhile
		}
		f.Document = documents[at]
	}
	return nil
}
