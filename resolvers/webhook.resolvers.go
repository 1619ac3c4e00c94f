package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *mutationResolver) CreateWebhook(ctx context.Context, input model.CreateWebhookInput) (*model.CreateWebhookPayload, error) {
	if err := r.engine.CheckAddress("url", input.URL); err != nil {
		return nil, model.JoinFaults(err, input.Validate())
	}
	webhook, secret, err := r.tenant(ctx).CreateWebhook(ctx, input)
	return &model.CreateWebhookPayload{Webhook: webhook, Secret: secret}, err
}

func (r *mutationResolver) UpdateWebhook(ctx context.Context, input model.UpdateWebhookInput) (*model.UpdateWebhookPayload, error) {
	if input.URL != nil {
		if err := r.engine.CheckAddress("url", *input.URL); err != nil {
			return nil, err
		}
	}
	webhook, err := r.tenant(ctx).UpdateWebhook(ctx, input)
	return &model.UpdateWebhookPayload{Webhook: webhook}, err
}

func (r *mutationResolver) DeleteWebhook(ctx context.Context, input model.DeleteWebhookInput) (*model.DeleteWebhookPayload, error) {
	return &model.DeleteWebhookPayload{DeletedID: input.WebhookID}, r.tenant(ctx).DeleteWebhook(ctx, input.WebhookID)
}

func (r *mutationResolver) RotateWebhookSecret(ctx context.Context, input model.RotateWebhookSecretInput) (*model.RotateWebhookSecretPayload, error) {
	webhook, secret, err := r.tenant(ctx).RotateWebhookSecret(ctx, input)
	return &model.RotateWebhookSecretPayload{Webhook: webhook, Secret: secret}, err
}

func (r *mutationResolver) SendTestWebhook(ctx context.Context, input model.SendTestWebhookInput) (*model.SendTestWebhookPayload, error) {
	delivery, err := r.tenant(ctx).SendTestWebhook(ctx, input.WebhookID)
	return &model.SendTestWebhookPayload{Delivery: delivery}, err
}

func (r *mutationResolver) RedeliverWebhook(ctx context.Context, input model.RedeliverWebhookInput) (*model.RedeliverWebhookPayload, error) {
	delivery, err := r.tenant(ctx).RedeliverWebhook(ctx, input.DeliveryID)
	return &model.RedeliverWebhookPayload{Delivery: delivery}, err
}

func (r *queryResolver) Webhooks(ctx context.Context) ([]*model.Webhook, error) {
	return r.tenant(ctx).Webhooks(ctx)
}

func (r *queryResolver) Webhook(ctx context.Context, id string) (*model.Webhook, error) {
	return query.ByID[*model.Webhook](ctx, id)
}

func (r *webhookResolver) Deliveries(ctx context.Context, obj *model.Webhook, status *model.WebhookDeliveryStatus, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.WebhookDelivery], error) {
	return query.Page[*model.WebhookDelivery](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.DeliveriesWithStatus(status))
}

func (r *Resolver) Webhook() graph.WebhookResolver { return &webhookResolver{r} }

type webhookResolver struct{ *Resolver }
