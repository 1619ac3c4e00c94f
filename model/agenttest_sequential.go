package model

import "math"

// StopRepeating is when an execution stops repeating a test. Without rates, it stops when a run fails. With both
// rates, it stops when Wald's sequential probability ratio test decides between them.
type StopRepeating struct {
	Good *float64 `json:"good,omitempty"`
	Bad  *float64 `json:"bad,omitempty"`
}

// minRate and maxRate bound the rates, so that one outcome cannot outweigh all earlier ones.
const minRate, maxRate = 0.001, 0.999

func (f *Fields) stopRepeating(s *StopRepeating) {
	const path = "stopRepeating"
	switch {
	case s == nil || s.Good == nil && s.Bad == nil:
	case s.Good == nil || s.Bad == nil:
		f.Add(path, "must have both good and bad, or neither")
	default:
		f.number(path+".good", s.Good, 0, maxRate)
		f.number(path+".bad", s.Bad, minRate, 1)
		if *s.Good <= *s.Bad {
			f.Add(path+".good", "must be more than bad")
		}
	}
}

// Bounds of a wrong decision. Calling a good test bad is a false alarm, so it needs more evidence than the reverse. If
// both needed equal evidence, a test would stop after its first failures. It would then look worse than it is, and have
// too few runs for a comparison.
const (
	missedBad  = 0.05
	falselyBad = 0.001
)

// IsDecided reports whether the judged runs of a test decide. For at most 0.1 % of good tests, the likelihood ratio of
// bad to good ever exceeds 1/0.001, however many runs there are and however often it is checked (Ville's inequality).
// For at most 5 % of bad tests, the ratio of good to bad ever exceeds 1/0.05. The same holds for tests that are better
// than good or worse than bad.
func (s *StopRepeating) IsDecided(passed, failed int32) bool {
	if s.Good == nil || s.Bad == nil {
		return failed > 0
	}
	evidence := s.evidence(passed, failed)
	return evidence <= math.Log(missedBad) || evidence >= -math.Log(falselyBad)
}

// evidence is the log-likelihood ratio of a bad test to a good one, given the runs.
func (s *StopRepeating) evidence(passed, failed int32) float64 {
	return float64(passed)*math.Log(*s.Bad / *s.Good) + float64(failed)*math.Log((1-*s.Bad)/(1-*s.Good))
}
