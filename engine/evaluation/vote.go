package evaluation

import (
	"context"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// laterVotes is the temperature of all votes after the first. At 0, the model would only repeat its answer.
const laterVotes = 1.0

// vote asks the judge about a criterion once for each vote. A verdict needs two thirds of the votes. Its rationale and
// evidence come from the first of these votes. Without that majority, the error is a *rules.Fault. A failed vote counts
// for no verdict.
func vote(ctx context.Context, p modelRole, criterion string, t transcript) (*model.CriterionResult, error) {
	if p.votes <= 1 {
		return judgeOne(ctx, p, criterion, t, llm.Settings{})
	}
	var fault error
	var settings llm.Settings
	type outcome struct{ passed, applies bool }
	given := map[outcome][]*model.CriterionResult{}
	for range p.votes {
		result, err := judgeOne(ctx, p, criterion, t, settings)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		settings.Temperature = new(laterVotes)
		if err == nil {
			said := outcome{result.Passed, result.Applies()}
			given[said] = append(given[said], result)
		} else if fault == nil {
			fault = err
		}
	}
	for _, votes := range given {
		if 3*len(votes) >= 2*p.votes {
			votes[0].Agreement = new(float64(len(votes)) / float64(p.votes))
			return votes[0], nil
		}
	}
	if fault != nil {
		return nil, fault
	}
	return nil, p.fault(nil, "its votes disagree about %q: %d of %d votes say that it holds", criterion,
		len(given[outcome{true, true}]), p.votes)
}
