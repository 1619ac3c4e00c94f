// Package resolvers resolves the fields of the schema, each by one call of the store or the engine. Start reading at
// Resolver.
package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// Resolver has the store, the engine and the evaluator that the fields use.
type Resolver struct {
	store     *db.Store
	engine    *engine.Engine
	evaluator *evaluation.Evaluator
	server    model.Server
}

// New returns the resolvers of a store, an engine and an evaluator. The field Query.server returns server.
func New(store *db.Store, e *engine.Engine, v *evaluation.Evaluator, server model.Server) *Resolver {
	return &Resolver{store: store, engine: e, evaluator: v, server: server}
}

// Config returns the resolvers and directives for the generated schema.
func (r *Resolver) Config() graph.Config {
	return graph.Config{Resolvers: r, Directives: graph.DirectiveRoot{Requires: requires}}
}

// tenant returns the caller's company, through which resolvers read all rows. Without a principal it returns a company
// without rows.
func (r *Resolver) tenant(ctx context.Context) *db.Tenant {
	principal, _ := model.PrincipalOf(ctx)
	tenant := db.TenantFromContext(ctx) // in the transaction of an idempotent request
	if tenant == nil || tenant.CompanyID() != principal.CompanyID {
		tenant = r.store.Tenant(principal.CompanyID)
	}
	return tenant.WithAPIKey(principal.KeyID).WithReach(principal.Reach)
}
