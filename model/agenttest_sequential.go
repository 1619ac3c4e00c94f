package model

import "math"

// StopRepeating says when a test of an execution is repeated no more. Without rates, it is as soon as a run failed.
// With both of them, it is as soon as Wald's sequential probability ratio test decides between them.
type StopRepeating struct {
	Good *float64 `json:"good,omitempty"`
	Bad  *float64 `json:"bad,omitempty"`
}

// minRate and maxRate bound the rates: one outcome must not decide whatever came before.
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

// IsDecided reports whether the judged runs of a test have decided. The likelihood of a bad test against a good one
// exceeds 1/0.05 at any time in at most 5 % of the tests that are good, however many runs are looked at and however
// often (Ville's inequality); and the other way round. So it does in those that are better than good, or worse than
// bad.
func (s *StopRepeating) IsDecided(passed, failed int32) bool {
	if s.Good == nil || s.Bad == nil {
		return failed > 0
	}
	return math.Abs(s.evidence(passed, failed)) >= math.Log(1/significant)
}

// evidence is the logarithm of how much likelier the runs are if the test is bad than if it is good.
func (s *StopRepeating) evidence(passed, failed int32) float64 {
	return float64(passed)*math.Log(*s.Bad / *s.Good) + float64(failed)*math.Log((1-*s.Bad)/(1-*s.Good))
}
