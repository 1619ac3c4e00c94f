package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) SimulationChats(ctx context.Context, obj *model.Agent, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.SimulationChatFilter) (*model.Page[*model.SimulationChat], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return query.Page[*model.SimulationChat](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.ChatsMatching(filter))
}

func (r *mutationResolver) StartSimulationChat(ctx context.Context, input model.StartSimulationChatInput) (*model.StartSimulationChatPayload, error) {
	if principal, _ := model.PrincipalOf(ctx); principal.Reach != nil {
		if !principal.Reach.HasAgent(input.AgentID) {
			return nil, model.Missing("agent", input.AgentID)
		}
		// With mocking, a web page could invent results of the agent's tools.
		if input.ToolMocking != nil {
			return nil, model.Errorf(model.Forbidden, "mocking needs the scope %s, which the credential does not "+
				"have", model.APIKeyScopeSimulate)
		}
		// With a prompt or first messages, a web page could make the agent say and do anything.
		if input.Prompt != nil || input.Messages != nil {
			return nil, model.Errorf(model.Forbidden, "a prompt or first messages need the scope %s, which the credential "+
				"does not have", model.APIKeyScopeSimulate)
		}
	}
	chat, err := r.engine.StartSimulationChat(ctx, r.tenant(ctx), input)
	return &model.StartSimulationChatPayload{SimulationChat: chat}, err
}

func (r *mutationResolver) SendSimulationMessage(ctx context.Context, input model.SendSimulationMessageInput) (*model.SendSimulationMessagePayload, error) {
	chat, messages, err := r.engine.SendSimulationMessage(ctx, r.tenant(ctx), input)
	return &model.SendSimulationMessagePayload{SimulationChat: chat, NewMessages: messages}, err
}

func (r *mutationResolver) EndSimulationChat(ctx context.Context, input model.EndSimulationChatInput) (*model.EndSimulationChatPayload, error) {
	chat, err := r.tenant(ctx).EndSimulationChat(ctx, input.SimulationChatID)
	return &model.EndSimulationChatPayload{SimulationChat: chat}, err
}

func (r *mutationResolver) DeleteSimulationChat(ctx context.Context, input model.DeleteSimulationChatInput) (*model.DeleteSimulationChatPayload, error) {
	err := r.tenant(ctx).DeleteSimulationChat(ctx, input.SimulationChatID)
	return &model.DeleteSimulationChatPayload{DeletedID: input.SimulationChatID}, err
}

func (r *queryResolver) SimulationChat(ctx context.Context, id string) (*model.SimulationChat, error) {
	if principal, _ := model.PrincipalOf(ctx); principal.Reach != nil {
		return r.tenant(ctx).SimulationChat(ctx, id)
	}
	return query.ByID[*model.SimulationChat](ctx, id)
}

func (r *queryResolver) SimulationChats(ctx context.Context, agentID *string, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.SimulationChatFilter) (*model.Page[*model.SimulationChat], error) {
	return r.tenant(ctx).SimulationChats(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, filter, query.Columns(ctx)...)
}

func (r *simulationChatResolver) Agent(ctx context.Context, obj *model.SimulationChat) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *simulationChatResolver) Messages(ctx context.Context, obj *model.SimulationChat) ([]*model.SimulationChatMessage, error) {
	return query.Many[*model.SimulationChatMessage](ctx, obj)
}

func (r *simulationChatResolver) LastMessage(ctx context.Context, obj *model.SimulationChat) (*model.SimulationChatMessage, error) {
	return query.First[*model.SimulationChatMessage](ctx, obj)
}

func (r *simulationChatResolver) FirstContactMessage(ctx context.Context, obj *model.SimulationChat) (*model.SimulationChatMessage, error) {
	return query.First[*model.SimulationChatMessage](ctx, obj)
}

func (r *simulationChatResolver) Instructions(ctx context.Context, obj *model.SimulationChat) (*string, error) {
	instructions, err := query.Value(ctx, obj, "instructions", r.engine.InstructionsOfChats)
	if err != nil {
		return nil, err
	}
	return instructions.Text, instructions.Err
}

func (r *subscriptionResolver) SimulationChatMessages(ctx context.Context, simulationChatID string, afterSequence int32) (<-chan *model.SimulationChatMessage, error) {
	return r.tenant(ctx).FollowMessages(ctx, simulationChatID, afterSequence)
}

func (r *subscriptionResolver) SimulationChatEvents(ctx context.Context, simulationChatID string) (<-chan model.SimulationChatEvent, error) {
	return r.tenant(ctx).FollowEvents(ctx, simulationChatID)
}

func (r *Resolver) SimulationChat() graph.SimulationChatResolver { return &simulationChatResolver{r} }

type simulationChatResolver struct{ *Resolver }
