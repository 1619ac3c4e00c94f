package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *datasetResolver) LabelledQuestions(ctx context.Context, obj *model.Dataset) ([]*model.LabelledQuestion, error) {
	return query.Value(ctx, obj, "labelled questions", query.ReadMethod((*db.Tenant).LabelledQuestionsOfDatasets))
}

func (r *mutationResolver) AddLabelledQuestions(ctx context.Context, input model.AddLabelledQuestionsInput) (*model.AddLabelledQuestionsPayload, error) {
	added, err := r.tenant(ctx).AddLabelledQuestions(ctx, input)
	return &model.AddLabelledQuestionsPayload{LabelledQuestions: added}, err
}

func (r *mutationResolver) DraftLabelledQuestions(ctx context.Context, input model.DraftLabelledQuestionsInput) (*model.DraftLabelledQuestionsPayload, error) {
	if r.server.IsOffline {
		return nil, model.Errorf(model.Unprocessable, "the offline model cannot write questions: give the server a "+
			"language model with OPENAI_API_KEY or OPENAI_BASE_URL")
	}
	drafted, err := r.evaluator.DraftLabelledQuestions(ctx, r.tenant(ctx), input)
	return &model.DraftLabelledQuestionsPayload{DraftedQuestions: drafted}, err
}

func (r *mutationResolver) DeleteLabelledQuestions(ctx context.Context, input model.DeleteLabelledQuestionsInput) (*model.DeleteLabelledQuestionsPayload, error) {
	deleted, err := r.tenant(ctx).DeleteLabelledQuestions(ctx, input)
	return &model.DeleteLabelledQuestionsPayload{DeletedIds: deleted}, err
}

func (r *queryResolver) EvaluateRetrieval(ctx context.Context, knowledgeBaseChatID string, datasetID *string, settings *model.PromptSettingsInput, first int32, after *string) (*model.RetrievalEvaluation, error) {
	chat, err := r.tenant(ctx).KnowledgeBaseChat(ctx, knowledgeBaseChatID)
	if err != nil {
		return nil, err
	}
	tried, err := r.store.TryPromptSettings(chat, settings)
	if err != nil {
		return nil, err
	}
	return r.engine.Knowledge().Evaluate(ctx, r.tenant(ctx), tried, datasetID, after, first)
}
