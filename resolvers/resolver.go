// Package resolvers answers every field of the schema: one call per field, no mapping.
package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// Resolver holds what the fields need.
type Resolver struct {
	store     *db.Store
	engine    *engine.Engine
	evaluator *evaluation.Evaluator
	server    model.Server
}

// New returns the resolvers of a store, and of an engine and an evaluator on it. Clients see the given server.
func New(store *db.Store, e *engine.Engine, v *evaluation.Evaluator, server model.Server) *Resolver {
	return &Resolver{store: store, engine: e, evaluator: v, server: server}
}

// Config returns the resolvers and directives for the generated schema.
func (r *Resolver) Config() graph.Config {
	return graph.Config{Resolvers: r, Directives: graph.DirectiveRoot{Requires: requires}}
}

// tenant returns the caller's company, the only way to rows from here. Without a principal it holds nothing.
func (r *Resolver) tenant(ctx context.Context) *db.Tenant {
	principal, _ := model.PrincipalOf(ctx)
	tenant := db.TenantOf(ctx) // in the transaction of a request that is carried out once
	if tenant == nil || tenant.CompanyID() != principal.CompanyID {
		tenant = r.store.Tenant(principal.CompanyID)
	}
	return tenant.By(principal.KeyID).Within(principal.Reach)
}
