package evaluation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// BlamesOfTests returns what broke each red test that has passed before, by the test's id. It takes four statements,
// however many tests there are.
func (v *Evaluator) BlamesOfTests(ctx context.Context, t *db.Tenant,
	ids []string) (map[string]*model.AgentTestBlame, error) {
	if err := v.blames.Enter(ctx, t.CompanyID()); err != nil {
		return nil, err
	}
	defer v.blames.Leave(t.CompanyID())
	blamed, err := t.BlamedRunsOfTests(ctx, ids)
	if err != nil || len(blamed) == 0 {
		return nil, err
	}
	var versions []db.AgentVersion
	var runs []*model.AgentTestRun
	for _, test := range blamed {
		versions = append(versions, db.AgentVersion{AgentID: test.AgentID, Version: test.Good.PromptVersion},
			db.AgentVersion{AgentID: test.AgentID, Version: test.Bad.PromptVersion})
		runs = append(runs, test.Good, test.Bad)
	}
	found, err := t.PromptsOf(ctx, model.Unique(versions))
	if err != nil {
		return nil, err
	}
	prompts := make(map[db.AgentVersion]string, len(found))
	for _, v := range found {
		prompts[db.AgentVersion{AgentID: v.AgentID, Version: v.Version}] = v.Prompt
	}
	credits, err := t.CreditsOfRuns(ctx, runs)
	if err != nil {
		return nil, err
	}
	searches, err := t.BlameSearchesOfTests(ctx, ids)
	if err != nil {
		return nil, err
	}
	blames, diffs := make(map[string]*model.AgentTestBlame, len(blamed)), promptDiffs{}
	all := make([]*model.AgentTestBlame, 0, len(blamed))
	for id, test := range blamed {
		blame := &model.AgentTestBlame{
			GoodVersion: test.Good.PromptVersion, BadVersion: test.Bad.PromptVersion,
			GoodRunID: test.Good.ID, BadRunID: test.Bad.ID,
			RowKey: test.Bad.RowKey, RowNumber: test.Bad.RowNumber, RowName: test.Bad.RowName,
			PartsAt:    firstDifference(test.Good.Messages, test.Bad.Messages),
			RunCredits: meanCredits(credits, test.Good, test.Bad),
			Changes:    diffs.changes(ctx, prompts, test), Search: searches[id],
		}
		blames[id], all = blame, append(all, blame)
	}
	pg.JoinBatch(all)
	return blames, ctx.Err()
}

// StartBlame starts a search for the cause of a test's failure. It returns UNPROCESSABLE when there is nothing to
// search, and the errors of db.Tenant.StartBlameSearch.
func (v *Evaluator) StartBlame(ctx context.Context, t *db.Tenant,
	in model.StartBlameInput) (*model.BlameSearch, error) {
	ids := []string{in.TestID}
	found, err := t.Find(ctx, db.AgentTestRows, ids, "id")
	if err == nil && len(found) == 0 {
		err = model.Missing(db.AgentTestRows.Type, in.TestID)
	}
	if err != nil {
		return nil, err
	}
	blames, err := v.BlamesOfTests(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	search, err := model.NewBlameSearch(in, blames[in.TestID], time.Now())
	if err != nil {
		return nil, err
	}
	return search, t.StartBlameSearch(ctx, search)
}

// ContinueBlame continues a search after the execution of one of its steps ended. The error is a db.Later if the
// database does not answer.
func (v *Evaluator) ContinueBlame(ctx context.Context, t *db.Tenant, executionID string, _ int32) error {
	err := t.ContinueBlameSearch(ctx, executionID)
	if pg.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) {
		return &db.Later{In: claimDelay, Err: err}
	}
	return err
}

// firstDifference returns the index of the first message that differs, or nil if none does.
func firstDifference(good, bad []model.TestMessage) *int32 {
	for i := range max(len(good), len(bad)) {
		if i >= len(good) || i >= len(bad) || good[i].Role != bad[i].Role || good[i].Text != bad[i].Text {
			return new(int32(i))
		}
	}
	return nil
}

// meanCredits returns the mean cost of the runs whose cost is known, or nil if there are none.
func meanCredits(credits map[string]model.Credits, runs ...*model.AgentTestRun) *model.Credits {
	sum, known := model.Credits(0), model.Credits(0)
	for _, run := range runs {
		if cost, ok := credits[run.ID]; ok {
			sum, known = sum+cost, known+1
		}
	}
	if known == 0 {
		return nil
	}
	return new(sum / known)
}

// promptDiffs caches the changes between two versions of an agent's prompt, because several tests may need them.
type promptDiffs map[[2]db.AgentVersion][]read.SentenceChange

// changes returns the changes between the prompts of two runs, and marks those that most likely broke the failed run.
// It returns none if a prompt is not known.
func (d promptDiffs) changes(ctx context.Context, prompts map[db.AgentVersion]string,
	runs *db.BlamedRuns) []*model.PromptChange {
	key := [2]db.AgentVersion{{AgentID: runs.AgentID, Version: runs.Good.PromptVersion},
		{AgentID: runs.AgentID, Version: runs.Bad.PromptVersion}}
	good, isGoodKnown := prompts[key[0]]
	bad, isBadKnown := prompts[key[1]]
	if !isGoodKnown || !isBadKnown {
		return []*model.PromptChange{}
	}
	sentences, known := d[key]
	if !known {
		sentences = read.CompareSentences(good, bad)
		d[key] = sentences
	}
	needs, changes := needsOf(runs.Good, runs.Bad), make([]*model.PromptChange, len(sentences))
	whole, most := needs.findIn(ctx, bad), 0
	for i, s := range sentences {
		changes[i] = changeOf(ctx, s, needs, whole)
		changes[i].Number = int32(i + 1)
		most = max(most, changes[i].Suspicion)
	}
	for _, c := range changes {
		c.IsSuspect = most > 0 && c.Suspicion == most
	}
	return changes
}

// changeOf returns a changed sentence. It marks the words that failed checks and criteria look for. whole says which
// needs the failing prompt meets in any of its sentences.
func changeOf(ctx context.Context, s read.SentenceChange, n needs, whole needed) *model.PromptChange {
	c := &model.PromptChange{At: s.At, BeforePieces: []model.PromptPiece{}, AfterPieces: []model.PromptPiece{},
		Needed: []string{}}
	section := ""
	if s.After != nil {
		c.Is, section = s.After.Text, s.After.Section
	}
	if s.Before != nil {
		c.Was, section, c.BeginsLine = s.Before.Text, s.Before.Section, s.Before.BeginsLine
	}
	if section != "" {
		c.Section = &section
	}
	before, after := strings.TrimSpace(c.Was), strings.TrimSpace(c.Is)
	if s.IsMoved {
		c.MovedTo = &s.After.At
	}
	gone, come := []read.Span{{End: len(before)}}, []read.Span{{End: len(after)}}
	if before != "" && after != "" && read.IsSimilar(before, after) {
		gone, come = read.CompareWords(before, after)
	}
	inBefore, inAfter := n.findIn(ctx, before), n.findIn(ctx, after)
	c.BeforePieces = piecesOf(before, gone, inBefore.spans)
	c.AfterPieces = piecesOf(after, come, inAfter.spans)
	for _, span := range inBefore.spans {
		c.Needed = append(c.Needed, before[span.Start:span.End])
	}
	c.Needed = model.Unique(c.Needed)
	if s.IsMoved {
		inAfter = n.findIn(ctx, "")
	}
	c.Suspicion = n.suspicion(inBefore, inAfter, whole)
	return c
}

// piecesOf cuts a sentence where changed or needed parts begin and end.
func piecesOf(text string, changed, needed []read.Span) []model.PromptPiece {
	cuts := []int{0, len(text)}
	for _, span := range slices.Concat(changed, needed) {
		cuts = append(cuts, span.Start, span.End)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	within := func(spans []read.Span, at int) bool {
		return slices.ContainsFunc(spans, func(s read.Span) bool { return s.Start <= at && at < s.End })
	}
	pieces := []model.PromptPiece{}
	for i := 1; i < len(cuts); i++ {
		piece := model.PromptPiece{Text: text[cuts[i-1]:cuts[i]], IsChanged: within(changed, cuts[i-1]),
			IsNeeded: within(needed, cuts[i-1])}
		if last := len(pieces) - 1; last >= 0 && pieces[last].IsChanged == piece.IsChanged &&
			pieces[last].IsNeeded == piece.IsNeeded {
			pieces[last].Text += piece.Text
			continue
		}
		pieces = append(pieces, piece)
	}
	return pieces
}
