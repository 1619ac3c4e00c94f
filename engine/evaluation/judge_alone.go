package evaluation

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// JudgeAlone asks the judge about one criterion of a conversation, as often as it has votes, even if the program could
// decide it: the verdict shows what the judge is worth. Of the run only messages and calls are read. endedBy is "agent",
// "contact" or "limit". The error says why there is no verdict.
func (v *Evaluator) JudgeAlone(ctx context.Context, run *model.AgentTestRun, endedBy, criterion string, votes int) (*model.CriterionResult, error) {
	p := v.tests.judge
	p.votes = votes
	end := ending{By: endedBy}
	if run.EndReason != nil {
		end.Reason = *run.EndReason
	}
	results, err := judge(ctx, nil, p, []string{criterion}, transcriptOf(run, 0, end))
	if err != nil {
		return nil, err
	}
	return &results[0], nil
}
