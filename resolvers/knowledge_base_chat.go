package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

// datasetTexts returns the text of each of the chat's datasets, in order.
func datasetTexts(ctx context.Context, chat *model.KnowledgeBaseChat,
	text func(*model.Dataset) string) ([]string, error) {
	datasets, err := query.Many[*model.Dataset](ctx, chat)
	texts := make([]string, len(datasets))
	for i, d := range datasets {
		texts[i] = text(d)
	}
	return texts, err
}
