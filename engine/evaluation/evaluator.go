// Package evaluation tests agents. A model plays contacts that talk with an agent, and rules and a judge decide whether
// the conversation was good. The package also extracts tags and values from ended conversations. Start reading at
// [Evaluator].
package evaluation

import (
	"cmp"
	"log/slog"
	"runtime"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// Options tune an Evaluator. The zero value works.
type Options struct {
	// Contact, Judge and Classifier play their roles in tests. Extractor reads values from ended conversations. Nil
	// means the default model of the agents. An agent that chooses a model also classifies and extracts with it.
	Contact, Judge, Classifier, Extractor llm.Model
	// Judges are further models that executions can be rejudged with.
	Judges []llm.Model
	// ReviewContact makes the judge check once per conversation whether the contact played its part.
	ReviewContact bool
	// Log receives failures with the causes that clients do not see. Nil means slog.Default().
	Log *slog.Logger
}

// Evaluator tests agents, and reads ended conversations. It is safe for concurrent use.
type Evaluator struct {
	engine *engine.Engine
	// writer drafts labeled questions from passages of documents.
	writer modelRole
	tests  modelRoles
	// judges are the models that can judge, by name. judgeNames lists the names; the first is the default judge.
	judges         map[string]llm.Model
	judgeNames     []string
	reviewsContact bool
	checker        *rules.Checker
	// blames limits the comparisons of prompts: each uses a processor for up to a tenth of a second.
	blames *fair.Gate
	log    *slog.Logger
}

// modelRoles are the roles in a test other than the agent's.
type modelRoles struct{ contact, judge, classifier, extractor modelRole }

// metered wraps the models of the roles so that the meter counts their answers.
func (p modelRoles) metered(meter *engine.Meter) modelRoles {
	for _, each := range []*modelRole{&p.contact, &p.judge, &p.classifier, &p.extractor} {
		each.Model = meter.Wrap(each.Model)
	}
	return p
}

// ofAgent returns the role with the agent's own model, if the agent chooses one.
func (v *Evaluator) ofAgent(p modelRole, agent *model.Agent) modelRole {
	p.Model, p.missing = v.engine.ModelOf(agent, p.Model)
	return p
}

// New returns an Evaluator of the Engine's agents. The Engine's model plays the parts that have no model of their own.
func New(e *engine.Engine, o Options) *Evaluator {
	m := e.Model()
	plays := func(languageModel llm.Model, name string, cause model.RunErrorCause) modelRole {
		return modelRole{Model: languageModel, name: name, cause: cause, timeout: e.ReplyTimeout()}
	}
	v := &Evaluator{
		engine: e, reviewsContact: o.ReviewContact, checker: rules.NewChecker(),
		blames: fair.New(runtime.GOMAXPROCS(0), 1), log: cmp.Or(o.Log, slog.Default()),
		writer: plays(deterministic{m}, "the language model", ""),
		tests: modelRoles{
			contact:    plays(cmp.Or(o.Contact, m), "the simulated contact", model.RunErrorCauseSimulator),
			judge:      plays(nil, "the judge", model.RunErrorCauseJudge),
			classifier: plays(cmp.Or(o.Classifier, m), "the classifier", model.RunErrorCauseAgent),
			extractor:  plays(cmp.Or(o.Extractor, m), "the extraction of values", model.RunErrorCauseAgent),
		},
		judges: map[string]llm.Model{},
	}
	for _, judge := range append([]llm.Model{cmp.Or(o.Judge, m)}, o.Judges...) {
		if v.judges[judge.Name()] == nil {
			v.judges[judge.Name()], v.judgeNames = deterministic{judge}, append(v.judgeNames, judge.Name())
		}
	}
	v.tests.judge.Model = v.judges[v.judgeNames[0]]
	return v
}
