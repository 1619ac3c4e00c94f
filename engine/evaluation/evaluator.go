// Package evaluation tests agents. A model plays contacts that talk with an agent, and rules and a judge decide
// whether the conversation was good. The package also reads ended conversations: their tags, and the values that
// agents define.
package evaluation

import (
	"cmp"
	"log/slog"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// Options tune an Evaluator. The zero value works.
type Options struct {
	// Contact, Judge and Classifier play their roles in tests of agents, and Extractor reads values out of
	// conversations that are over. Nil means the agents' own model.
	Contact, Judge, Classifier, Extractor llm.Model
	// Judges are models that executions can be judged again by, beside the judge.
	Judges []llm.Model
	// ReviewContact has the judge asked once about each conversation of a test whether the contact played its part.
	ReviewContact bool
	// Log receives failures with the causes that clients are not told. Nil means slog.Default().
	Log *slog.Logger
}

// Evaluator tests agents, and reads conversations that are over. It is safe for concurrent use.
type Evaluator struct {
	engine *engine.Engine
	// writer drafts questions.
	writer part
	tests  parts
	// judges are the models that can judge, by their names, of which the first is the judge's.
	judges     map[string]llm.Model
	judgeNames []string
	isReviewed bool
	checker    *rules.Checker
	log        *slog.Logger
}

// parts are the roles in a test other than the agent's.
type parts struct{ contact, judge, classifier, extractor part }

// metered wraps the models of the parts so that a meter counts their answers.
func (p parts) metered(by *engine.Meter) parts {
	for _, each := range []*part{&p.contact, &p.judge, &p.classifier, &p.extractor} {
		each.Model = by.Of(each.Model)
	}
	return p
}

// New returns an Evaluator of the agents that an Engine lets answer. Their model plays all parts that have none of
// their own.
func New(e *engine.Engine, o Options) *Evaluator {
	m := e.Model()
	plays := func(by llm.Model, name string, cause model.RunErrorCause) part {
		return part{Model: by, name: name, cause: cause, timeout: e.ReplyTimeout()}
	}
	v := &Evaluator{
		engine: e, isReviewed: o.ReviewContact, checker: rules.NewChecker(), log: cmp.Or(o.Log, slog.Default()),
		writer: plays(&deterministic{Model: m}, "the language model", ""),
		tests: parts{
			contact:    plays(cmp.Or(o.Contact, m), "the simulated contact", model.RunErrorCauseSimulator),
			judge:      plays(nil, "the judge", model.RunErrorCauseJudge),
			classifier: plays(cmp.Or(o.Classifier, m), "the classifier", model.RunErrorCauseAgent),
			extractor:  plays(cmp.Or(o.Extractor, m), "the extraction of values", model.RunErrorCauseAgent),
		},
		judges: map[string]llm.Model{},
	}
	for _, judge := range append([]llm.Model{cmp.Or(o.Judge, m)}, o.Judges...) {
		if v.judges[judge.Name()] == nil {
			v.judges[judge.Name()], v.judgeNames = &deterministic{Model: judge}, append(v.judgeNames, judge.Name())
		}
	}
	v.tests.judge.Model = v.judges[v.judgeNames[0]]
	return v
}
