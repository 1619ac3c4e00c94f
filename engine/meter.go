package engine

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// Meter counts the tokens of a conversation's answers from all models. It estimates the tokens of an answer without a
// report of usage. Failed or abandoned answers do not count.
type Meter struct {
	mutex sync.Mutex
	// used has the usage by the name of the model that answered.
	used map[string]llm.Usage
}

// Wrap wraps the model to count its answers. It returns nil for a nil model.
func (m *Meter) Wrap(counted llm.Model) llm.Model {
	if counted == nil {
		return nil
	}
	return metered{counted, m}
}

type metered struct {
	llm.Model
	meter *Meter
}

// Chat forwards the model's answer and counts its tokens.
func (m metered) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		var text strings.Builder
		for chunk, err := range m.Model.Chat(ctx, req) {
			if err == nil {
				text.WriteString(chunk.Text)
			}
			if err == nil && chunk.Finish != "" {
				used := chunk.Usage
				if used == (llm.Usage{}) {
					used = llm.EstimateUsage(req, llm.Answer{Text: text.String(), ToolCalls: chunk.ToolCalls})
				}
				m.meter.addUsage(cmp.Or(chunk.Model, m.Name()), used)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (m *Meter) addUsage(name string, used llm.Usage) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.used == nil {
		m.used = map[string]llm.Usage{}
	}
	m.used[name] = m.used[name].Plus(used)
}

// addAll adds what another meter has counted.
func (m *Meter) addAll(other *Meter) {
	for name, used := range other.byModel() {
		m.addUsage(name, used)
	}
}

func (m *Meter) byModel() map[string]llm.Usage {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.used)
}

// Models returns the names of the models that answered, in order.
func (m *Meter) Models() []string { return slices.Sorted(maps.Keys(m.byModel())) }

// total returns the tokens of all models.
func (m *Meter) total() (sum llm.Usage) {
	for _, used := range m.byModel() {
		sum = sum.Plus(used)
	}
	return sum
}

// Spent returns the usage of a conversation with the agent. messages is the number of the agent's messages.
func (e *Engine) Spent(agent *model.Agent, m *Meter, messages int32) *model.UsageEntry {
	own := e.model.Name()
	if agent.Model != nil {
		own = *agent.Model
	}
	credits := e.pricesOf(own).Of(int64(messages), 0, 0, 0)
	for name, used := range m.byModel() {
		credits += e.pricesOf(name).Of(0, int64(used.InputTokens), int64(used.CachedTokens), int64(used.OutputTokens))
	}
	return &model.UsageEntry{AgentID: agent.ID, Channel: agent.Channel, Credits: min(credits, model.MaxEntryCredits)}
}

// Choice is a model that agents can choose by its name.
type Choice struct {
	llm.Model
	Prices model.Prices
	// Provider is the protocol of the model's provider. Fallback is the name of the model that answers while this one is
	// unavailable, or "".
	Provider, Fallback string
}

// pricesOf returns the prices of a model that agents can choose, or the prices of all other models.
func (e *Engine) pricesOf(name string) model.Prices {
	if chosen, ok := e.choices[name]; ok {
		return chosen.Prices
	}
	return e.prices
}

// ModelNames returns the names of the models that agents can choose, in order.
func (e *Engine) ModelNames() []string { return slices.Sorted(maps.Keys(e.choices)) }

// Choices returns the models that agents can choose, by name.
func (e *Engine) Choices() (choices []Choice) {
	for _, name := range e.ModelNames() {
		choices = append(choices, e.choices[name])
	}
	return choices
}

// modelChooser returns ModelOf for a default model. The meter counts the tokens of the models' answers.
func (e *Engine) modelChooser(m *Meter, defaultModel llm.Model) func(*model.Agent) (llm.Model, error) {
	return func(agent *model.Agent) (llm.Model, error) {
		chosen, err := e.ModelOf(agent, defaultModel)
		return m.Wrap(chosen), err
	}
}

// ModelOf returns the model that an agent chooses by its name, or the default one if it names none. The error is
// UNPROCESSABLE if this server no longer has the model.
func (e *Engine) ModelOf(agent *model.Agent, defaultModel llm.Model) (llm.Model, error) {
	if agent.Model == nil {
		return defaultModel, nil
	}
	if chosen, ok := e.choices[*agent.Model]; ok {
		return chosen.Model, nil
	}
	return nil, model.Errorf(model.Unprocessable, "the agent's model %q is not one of this server's models (%s): "+
		"choose another one, or an empty text for the default", *agent.Model, strings.Join(e.ModelNames(), ", "))
}
