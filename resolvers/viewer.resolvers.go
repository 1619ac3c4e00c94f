package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

func (r *queryResolver) Viewer(ctx context.Context) (*model.Viewer, error) {
	principal, _ := model.PrincipalOf(ctx)
	return principal.Viewer(), nil
}

func (r *viewerResolver) KeyName(ctx context.Context, obj *model.Viewer) (string, error) {
	key, err := r.tenant(ctx).APIKey(ctx, obj.KeyID)
	if err != nil {
		return "", err
	}
	return key.Name, nil
}

func (r *Resolver) Viewer() graph.ViewerResolver { return &viewerResolver{r} }

type viewerResolver struct{ *Resolver }
