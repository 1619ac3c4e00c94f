package model

import "math"

// StopRepeating determines when an execution stops repeating a test. Without rates, it stops when a run fails. With
// both rates, it stops when Wald's sequential probability ratio test calls the test good.
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
			f.Add(path+".good", `must be greater than "bad"`)
		}
	}
}

// missedBad bounds the share of bad tests that stop as good.
const missedBad = 0.05

// IsDecided reports whether a test needs no further runs after these judged ones. The likelihood ratio of good to bad
// exceeds 1/0.05 for at most 5 % of bad tests, however many runs there are and however often it is checked (Ville's
// inequality). The same holds for tests that are worse than bad.
//
// With rates, a test never stops as bad. A test that stops when it fails looks worse than it is. When tests could also
// stop as bad, up to 14 % of unchanged suites raised an alarm. If tests stop only as good, a later comparison raises no
// additional false alarms (Lan, Simon and Halperin 1982, "Stochastically curtailed tests in long-term clinical
// trials").
func (s *StopRepeating) IsDecided(passed, failed int32) bool {
	if s.Good == nil || s.Bad == nil {
		return failed > 0
	}
	return s.evidence(passed, failed) <= math.Log(missedBad)
}

// evidence is the log-likelihood ratio of a bad test to a good one, given the runs.
func (s *StopRepeating) evidence(passed, failed int32) float64 {
	return float64(passed)*math.Log(*s.Bad / *s.Good) + float64(failed)*math.Log((1-*s.Bad)/(1-*s.Good))
}
