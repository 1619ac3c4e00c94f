package model

import (
	"cmp"
	"math"
	"slices"
)

const (
	// MaxJudgeFigures bounds the entries for an agent, and maxDisagreements the wrong verdicts of an entry.
	MaxJudgeFigures  = 200
	maxDisagreements = 20
	// minCorrecting is the minimum number of labels for a corrected pass rate.
	minCorrecting = 20
)

// CountedShare is how many of something have a property.
type CountedShare struct{ Count, Of int32 }

// Share returns the share, or nil if there is nothing.
func (s CountedShare) Share() *float64 { return ratio(s.Count, s.Of) }

// Interval returns the 95 % confidence interval of the share, or nil if there is nothing.
func (s CountedShare) Interval() *RateInterval { return wilson(s.Count, s.Of) }

func (s *CountedShare) countOne(has bool) {
	s.Of++
	if has {
		s.Count++
	}
}

// isBelow reports whether the share is significantly lower than another one, by the interval of Newcombe (1998, method
// 10) for the difference.
func (s CountedShare) isBelow(other CountedShare) bool {
	if s.Of == 0 || other.Of == 0 {
		return false
	}
	own, its := *s.Share(), *other.Share()
	return its-own > math.Hypot(its-other.Interval().Low, s.Interval().High-own)
}

// ratedPairs counts pairs of answers to the same questions. The first index is whether the first rater said yes.
type ratedPairs [2][2]float64

func (p *ratedPairs) addPair(a, b bool) {
	index := map[bool]int{true: 1}
	p[index[a]][index[b]]++
}

func (p *ratedPairs) total() float64 { return p[0][0] + p[0][1] + p[1][0] + p[1][1] }

// kappa returns the kappa of Cohen (1960). ok is false if both raters gave the same answer to every question.
func (p *ratedPairs) kappa() (k float64, ok bool) {
	n := p.total()
	seen := (p[0][0] + p[1][1]) / n
	byChance := ((p[0][0]+p[0][1])*(p[0][0]+p[1][0]) + (p[1][0]+p[1][1])*(p[0][1]+p[1][1])) / (n * n)
	if byChance >= 1-1e-12 {
		return 0, false
	}
	return (seen - byChance) / (1 - byChance), true
}

// meanKappa returns the mean of the pairs' kappas, as Light (1971) proposes for several raters, weighted by the number
// of common questions. It returns nil if no kappa is defined.
func meanKappa[K comparable](pairsByRaters map[K]*ratedPairs) *float64 {
	sum, n := 0.0, 0.0
	for _, pairs := range pairsByRaters {
		if k, ok := pairs.kappa(); ok {
			sum, n = sum+k*pairs.total(), n+pairs.total()
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / n)
}

func pairsOf[K comparable](byRaters map[K]*ratedPairs, key K) *ratedPairs {
	if byRaters[key] == nil {
		byRaters[key] = &ratedPairs{}
	}
	return byRaters[key]
}

// LabelledVerdict is a verdict of a judge that people labeled.
type LabelledVerdict struct {
	Run    *AgentTestRun
	Result *CriterionResult
	Labels []*CriterionLabel
}

// LabelledVerdicts returns the verdicts of the runs that people labeled, in the order of the runs. labels are by the
// run that held the conversation.
func LabelledVerdicts(runs []*AgentTestRun, labels map[string][]*CriterionLabel) (labelled []LabelledVerdict) {
	for _, run := range runs {
		runLabels := labels[run.ConversationID()]
		for i := range run.CriteriaResults {
			result := &run.CriteriaResults[i]
			its := slices.DeleteFunc(slices.Clone(runLabels),
				func(l *CriterionLabel) bool { return l.Criterion != result.Criterion })
			if len(its) > 0 && !result.ByProgram {
				labelled = append(labelled, LabelledVerdict{run, result, its})
			}
		}
	}
	return labelled
}

// ConversationID returns the id of the run that held the conversation.
func (r *AgentTestRun) ConversationID() string {
	if r.RejudgeOfID != nil {
		return *r.RejudgeOfID
	}
	return r.ID
}

// majority returns the answer of the majority, or nil without one.
func majority(labels []*CriterionLabel) *bool {
	balance := 0
	for _, label := range labels {
		if label.Holds {
			balance++
		} else {
			balance--
		}
	}
	if balance == 0 {
		return nil
	}
	return new(balance > 0)
}

// JudgeFigures measures how well a judge agrees with people.
type JudgeFigures struct {
	JudgeModel, JudgePrompt *string
	// Criterion is nil for all criteria together.
	Criterion                  *string
	Labels, People             int32
	Agreement, PeopleAgreement CountedShare
	// Kappa and PeopleKappa are nil if they are not defined.
	Kappa, PeopleKappa          *float64
	FalsePasses, FalseFailures  CountedShare
	IsWorseThanPeople           bool
	Disagreements               []*JudgeDisagreement
	byPerson                    map[string]*ratedPairs
	byPeople                    map[[2]string]*ratedPairs
	agreementWhereSeveralMarked CountedShare
}

// JudgeDisagreement is a verdict that is wrong according to people.
type JudgeDisagreement struct {
	Owned

	RunID, Criterion string
	Passed           bool
	Labels           []*CriterionLabel
}

// judgeKey identifies a judge and one of its criteria. The judge is empty if it is unknown, and criterion is empty for
// all criteria together.
type judgeKey struct{ model, prompt, criterion string }

func (r *AgentTestRun) judge() judgeKey { return judgeOf(r.JudgeModel, r.JudgePrompt) }

func judgeOf(model, prompt *string) judgeKey {
	if model == nil || prompt == nil {
		return judgeKey{}
	}
	return judgeKey{model: *model, prompt: *prompt}
}

// FiguresOf returns the figures of each judge, and of each of its criteria: at most MaxJudgeFigures. Judges are sorted
// by their number of labels, highest first. So are the criteria of each judge. labelled must be sorted by time, newest
// first. If a judge decided a criterion of a conversation several times, its newest verdict counts.
func FiguresOf(labelled []LabelledVerdict) []*JudgeFigures {
	figures, totals, all := map[judgeKey]*JudgeFigures{}, map[judgeKey]int32{}, []*JudgeFigures{}
	type question struct {
		judgeKey
		conversationID string
	}
	decided := map[question]bool{}
	for _, verdict := range labelled {
		judge := verdict.Run.judge()
		ofCriterion := judge
		ofCriterion.criterion = verdict.Result.Criterion
		asked := question{ofCriterion, verdict.Run.ConversationID()}
		if decided[asked] {
			continue
		}
		decided[asked] = true
		totals[judge] += int32(len(verdict.Labels))
		for _, key := range []judgeKey{judge, ofCriterion} {
			if figures[key] == nil {
				figures[key] = &JudgeFigures{JudgeModel: verdict.Run.JudgeModel, JudgePrompt: verdict.Run.JudgePrompt,
					byPerson: map[string]*ratedPairs{}, byPeople: map[[2]string]*ratedPairs{},
					Disagreements: []*JudgeDisagreement{}}
				if key.criterion != "" {
					figures[key].Criterion = &ofCriterion.criterion
				}
				all = append(all, figures[key])
			}
			figures[key].addVerdict(verdict)
		}
	}
	for _, f := range all {
		f.People, f.Kappa, f.PeopleKappa = int32(len(f.byPerson)), meanKappa(f.byPerson), meanKappa(f.byPeople)
		f.IsWorseThanPeople = f.agreementWhereSeveralMarked.isBelow(f.PeopleAgreement)
	}
	slices.SortStableFunc(all, func(a, b *JudgeFigures) int {
		first, second := judgeOf(a.JudgeModel, a.JudgePrompt), judgeOf(b.JudgeModel, b.JudgePrompt)
		return cmp.Or(cmp.Compare(totals[second], totals[first]), cmp.Compare(first.model, second.model),
			cmp.Compare(first.prompt, second.prompt), cmp.Compare(b.allCriteriaRank(), a.allCriteriaRank()),
			cmp.Compare(b.Labels, a.Labels))
	})
	return all[:min(len(all), MaxJudgeFigures)]
}

// allCriteriaRank returns 1 for the figures of all criteria.
func (f *JudgeFigures) allCriteriaRank() int {
	if f.Criterion == nil {
		return 1
	}
	return 0
}

func (f *JudgeFigures) addVerdict(v LabelledVerdict) {
	f.Labels += int32(len(v.Labels))
	for i, label := range v.Labels {
		f.Agreement.countOne(label.Holds == v.Result.Passed)
		pairsOf(f.byPerson, label.Person).addPair(v.Result.Passed, label.Holds)
		if len(v.Labels) > 1 {
			f.agreementWhereSeveralMarked.countOne(label.Holds == v.Result.Passed)
		}
		for _, other := range v.Labels[i+1:] {
			f.PeopleAgreement.countOne(label.Holds == other.Holds)
			if a, b := label, other; a.Person < b.Person {
				pairsOf(f.byPeople, [2]string{a.Person, b.Person}).addPair(a.Holds, b.Holds)
			} else {
				pairsOf(f.byPeople, [2]string{b.Person, a.Person}).addPair(b.Holds, a.Holds)
			}
		}
	}
	truth := majority(v.Labels)
	if truth == nil {
		return
	}
	isWrong := *truth != v.Result.Passed
	if v.Result.Passed {
		f.FalsePasses.countOne(isWrong)
	} else {
		f.FalseFailures.countOne(isWrong)
	}
	if isWrong && len(f.Disagreements) < maxDisagreements {
		f.Disagreements = append(f.Disagreements, &JudgeDisagreement{RunID: v.Run.ID, Criterion: v.Result.Criterion,
			Passed: v.Result.Passed, Labels: v.Labels})
	}
}
