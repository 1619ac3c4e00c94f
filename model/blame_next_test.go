package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// badPrompt is the failing prompt of the searches of searchOf, which have at most 200 changes.
var badPrompt = strings.Repeat(".", MaxBlameChanges)

// searchOf returns a search over changes. Some of them are suspects.
func searchOf(changes int, suspects ...int32) *BlameSearch {
	s := &BlameSearch{Status: BlameStatusRunning, Repeats: 5}
	for n := range int32(changes) {
		c := &PromptChange{Number: n + 1, Was: fmt.Sprintf("%d. ", n+1), At: int(n)}
		if slices.Contains(suspects, c.Number) {
			c.IsSuspect, c.Suspicion = true, 100
		}
		s.Changes = append(s.Changes, c)
	}
	return s
}

// run runs a search to its end. repairs decides whether the restored changes let all runs of a step pass.
func (s *BlameSearch) run(t *testing.T, repairs func(restored []int32) bool) BlameVerdict {
	t.Helper()
	return s.runWith(t, badPrompt, repairs)
}

// runWith runs a search of a failing prompt to its end, in which no step is repeated.
func (s *BlameSearch) runWith(t *testing.T, bad string, repairs func(restored []int32) bool) BlameVerdict {
	t.Helper()
	seen := map[string]bool{}
	return s.runCounted(t, bad, func(restored []int32) int32 {
		require.False(t, seen[fmt.Sprint(restored)], "no step is repeated")
		seen[fmt.Sprint(restored)] = true
		if repairs(restored) {
			return s.Repeats
		}
		return 0
	})
}

// runCounted runs a search of a failing prompt to its end. passed decides how many runs of a step pass.
func (s *BlameSearch) runCounted(t *testing.T, bad string, passed func(restored []int32) int32) BlameVerdict {
	t.Helper()
	for {
		restored, verdict := s.Next(bad)
		if verdict != nil {
			return *verdict
		}
		require.True(t, slices.IsSorted(restored))
		s.Steps = append(s.Steps, &BlameStep{Restored: restored})
		require.LessOrEqual(t, len(s.Steps), int(maxSteps(len(s.Changes))))
		n := passed(restored)
		s.Record(&AgentTestRunCounts{Passed: n, Failed: s.Repeats - n}, false, time.Now())
	}
}

func containsAll(restored []int32, cause ...int32) bool {
	return !slices.ContainsFunc(cause, func(n int32) bool { return !slices.Contains(restored, n) })
}

func TestSearchFindsMinimalCauses(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		changes := 1 + random.IntN(60)
		cause := []int32{1 + random.Int32N(int32(changes))}
		s := searchOf(changes)
		if random.IntN(2) == 0 {
			s = searchOf(changes, 1+random.Int32N(int32(changes)))
		}
		verdict := s.run(t, func(restored []int32) bool { return containsAll(restored, cause...) })
		require.Equal(t, BlameVerdictFound, verdict)
		require.Equal(t, cause, s.CauseNumbers)
		require.True(t, *s.IsOnlyCause)
	}
	suspected := searchOf(200, 7)
	require.Equal(t, BlameVerdictFound, suspected.run(t, func(r []int32) bool { return containsAll(r, 7) }))
	require.Len(t, suspected.Steps, usualSteps)

	pair := searchOf(8, 2)
	require.Equal(t, BlameVerdictFound, pair.run(t, func(r []int32) bool { return containsAll(r, 2, 7) }))
	require.Equal(t, []int32{2, 7}, pair.CauseNumbers)

	either := searchOf(5, 3)
	require.Equal(t, BlameVerdictFound, either.run(t, func(r []int32) bool {
		return slices.Contains(r, 3) || slices.Contains(r, 5)
	}))
	require.Equal(t, []int32{3}, either.CauseNumbers)
	require.False(t, *either.IsOnlyCause)

	only := searchOf(1)
	require.Equal(t, BlameVerdictFound, only.run(t, func(r []int32) bool { return len(r) == 1 }))
	require.Len(t, only.Steps, 2)
}

// Steps whose prompt would be empty or too long are left out.
func TestSearchLeavesOutPromptsThatCannotRun(t *testing.T) {
	t.Parallel()
	const good, bad = "Parking is behind the building.", "Parking is in front of it."
	replaced := searchOf(0)
	replaced.Changes = []*PromptChange{
		{Number: 1, Was: good, BeginsLine: true, IsSuspect: true, Suspicion: 100},
		{Number: 2, Is: bad},
	}
	restoresGood := func(r []int32) bool { return containsAll(r, 1) }
	require.Equal(t, BlameVerdictFound, replaced.runWith(t, bad, restoresGood))
	require.Equal(t, []int32{1}, replaced.CauseNumbers)
	require.Nil(t, replaced.IsOnlyCause, "this was not tried")
	require.Len(t, replaced.Steps, 3)

	replaced.Steps, replaced.CauseNumbers = nil, nil
	replaced.Changes[0].IsSuspect, replaced.Changes[0].Suspicion = false, 0
	require.Equal(t, BlameVerdictFound, replaced.runWith(t, bad, restoresGood))
	require.Equal(t, []int32{1}, replaced.CauseNumbers)

	long, longer := strings.Repeat("a", MaxPromptLength-1), strings.Repeat("b", MaxPromptLength-1)
	replaced.Steps, replaced.CauseNumbers = nil, nil
	replaced.Changes = []*PromptChange{{Number: 1, Was: longer, BeginsLine: true}, {Number: 2, Is: long}}
	require.Equal(t, BlameVerdictFound, replaced.runWith(t, long, restoresGood))
	require.Equal(t, []int32{1, 2}, replaced.CauseNumbers, "each alone makes a prompt that cannot run")
}

func TestSearchReportsWhyNoCauseIsFound(t *testing.T) {
	t.Parallel()
	never := searchOf(3, 1)
	require.Equal(t, BlameVerdictNotExplained, never.run(t, func([]int32) bool { return false }))
	require.Len(t, never.Steps, 1)
	require.Empty(t, never.CauseNumbers)
	always := searchOf(3, 1)
	require.Equal(t, BlameVerdictNotReproduced, always.run(t, func([]int32) bool { return true }))
	require.Len(t, always.Steps, 2)

	// The search for ten changes that are all needed exceeds the maximum number of steps.
	many := searchOf(40)
	needed := []int32{1, 5, 9, 13, 17, 21, 25, 29, 33, 37}
	require.Equal(t, BlameVerdictUndecided, many.run(t, func(r []int32) bool { return containsAll(r, needed...) }))
	require.Len(t, many.Steps, maxBlameSteps)
	require.True(t, len(many.CauseNumbers) == 0 || containsAll(many.CauseNumbers, needed...))

	// A flaky test: the old prompt is not clearly better, so both prompts are tried again.
	for whole, verdict := range map[int32]BlameVerdict{4: BlameVerdictUndecided, 2: BlameVerdictNotExplained} {
		flaky := searchOf(2, 1)
		require.Equal(t, verdict, flaky.runCounted(t, badPrompt, func(restored []int32) int32 {
			if len(restored) == 0 {
				return whole - 1
			}
			return whole
		}))
		require.Len(t, flaky.Steps, 2*maxTries)
	}

	lost := searchOf(2)
	restored, _ := lost.Next(badPrompt)
	lost.Steps = append(lost.Steps, &BlameStep{Restored: restored, ExecutionID: "execution_1"})
	lost.Record(&AgentTestRunCounts{Error: 5}, false, time.Now())
	require.Equal(t, BlameStatusFailed, lost.Status)
	require.Contains(t, *lost.Error, "execution_1")
}

func TestRestoringChangesKeepsLines(t *testing.T) {
	t.Parallel()
	bad := "You are Robin."
	changes := []*PromptChange{
		{Number: 1, Was: "\n# Way\n"[1:], At: len(bad), BeginsLine: true},
		{Number: 2, Was: "- Park here.\n", At: len(bad), BeginsLine: true},
		{Number: 3, Was: "Then wait. ", At: len(bad), BeginsLine: true},
	}
	require.Equal(t, bad, RestorePrompt(bad, changes, nil))
	require.Equal(t, "You are Robin.\n- Park here.\n", RestorePrompt(bad, changes, []int32{2}))
	require.Equal(t, "You are Robin.\nThen wait. ", RestorePrompt(bad, changes, []int32{3}))
	require.Equal(t, "You are Robin.\n# Way\n- Park here.\nThen wait. ", RestorePrompt(bad, changes, []int32{1, 2, 3}))
	rewritten := []*PromptChange{{Number: 1, Was: "Be kind.", Is: "Be quick.\n", At: 0, BeginsLine: true}}
	require.Equal(t, "Be kind.\n- Next", RestorePrompt("Be quick.\n- Next", rewritten, []int32{1}))
	japanese := []*PromptChange{{Number: 1, Was: "駐車場は裏です。", At: len("九時に開店。")}}
	require.Equal(t, "九時に開店。駐車場は裏です。予約は不要。", RestorePrompt("九時に開店。予約は不要。", japanese, []int32{1}))
}

func TestRestoredSentencesAreNotGluedToOthers(t *testing.T) {
	t.Parallel()
	first := []*PromptChange{{Number: 1, Was: "Now. ", BeginsLine: true}}
	require.Equal(t, "Now.\n- Park here.", RestorePrompt("- Park here.", first, []int32{1}))
	require.Equal(t, "Now. Park here.", RestorePrompt("Park here.", first, []int32{1}))
	last := []*PromptChange{{Number: 1, Was: "Then wait.", At: 6}, {Number: 2, Is: "Park here.", At: 6}}
	require.Equal(t, "Call. Then wait. Park here.", RestorePrompt("Call. Park here.", last, []int32{1}))
}

// A removed line never goes inside a line of the failing prompt.
func TestRestoredLinesLeaveOtherLinesWhole(t *testing.T) {
	t.Parallel()
	const bad = "# First\nCall, and end. Book nothing. Ask nothing.\n\n# Booking\nAsk."
	at := strings.Index(bad, "Book nothing")
	next := strings.Index(bad, "Ask nothing")
	changes := []*PromptChange{
		{Number: 1, Was: "Now. ", At: at},
		{Number: 2, Was: "# Way\n", At: at, BeginsLine: true},
		{Number: 3, Was: "- Park here. ", At: at, BeginsLine: true},
		{Number: 4, Was: "Then wait.", At: at},
		{Number: 5, Is: "Book nothing. ", At: at},
		{Number: 6, Is: "Ask nothing.\n\n", At: next},
	}
	line := "# First\nCall, and end. Book nothing. Ask nothing.\n\n"
	require.Equal(t, bad, RestorePrompt(bad, changes, nil))
	require.Equal(t, line+"- Park here.\n\n# Booking\nAsk.", RestorePrompt(bad, changes, []int32{3}))
	require.Equal(t, line+"# Way\n- Park here. Then wait.\n\n# Booking\nAsk.",
		RestorePrompt(bad, changes, []int32{2, 3, 4}))
	require.Equal(t, "# First\nCall, and end. Now. Book nothing. Ask nothing.\n\n# Booking\nAsk.",
		RestorePrompt(bad, changes, []int32{1}))
	require.Equal(t, "# First\nCall, and end. Now.\n\n# Way\n- Park here. Then wait.\n\n# Booking\nAsk.",
		RestorePrompt(bad, changes, []int32{1, 2, 3, 4, 5, 6}))
	joined := []*PromptChange{{Number: 1, Was: "- Park here.\n", At: at, BeginsLine: true}}
	require.Equal(t, "# First\nCall, and end.\n- Park here.\nBook nothing. Ask nothing.\n\n# Booking\nAsk.",
		RestorePrompt(bad, joined, []int32{1}), "the next sentence followed it in the good prompt too")
}

// Restored sentences are in their own section, below their heading.
func TestRemovedHeadingsAreRestoredWithTheirSentences(t *testing.T) {
	t.Parallel()
	const bad = "# First\nCall.\nAsk.\n\n# Booking\nWait."
	at := strings.Index(bad, "Ask.")
	changes := []*PromptChange{
		{Number: 1, Was: "Listen.\n", At: at, BeginsLine: true, Section: new("First")},
		{Number: 2, Was: "# Way\n", At: at, BeginsLine: true, Section: new("First")},
		{Number: 3, Was: "- Park here.\n", At: at, BeginsLine: true, Section: new("Way")},
		{Number: 4, Was: "## Bus\n", At: at, BeginsLine: true, Section: new("Way")},
		{Number: 5, Was: "Take 14.\n\n", At: at, BeginsLine: true, Section: new("Bus")},
		{Number: 6, Is: "Ask.\n\n", At: at},
	}
	first, rest := "# First\nCall.\nAsk.\n\n", "# Booking\nWait."
	require.Equal(t, bad, RestorePrompt(bad, changes, nil))
	require.Equal(t, "# First\nCall.\nListen.\nAsk.\n\n"+rest, RestorePrompt(bad, changes, []int32{1}))
	require.Equal(t, first+"# Way\n- Park here.\n\n"+rest, RestorePrompt(bad, changes, []int32{3}))
	require.Equal(t, first+"# Way\n## Bus\nTake 14.\n\n"+rest, RestorePrompt(bad, changes, []int32{5}))
	require.Equal(t, "# First\nCall.\nListen.\nAsk.\n\n# Way\n\n"+rest, RestorePrompt(bad, changes, []int32{1, 2}))
	require.Equal(t, "# First\nCall.\nListen.\n# Way\n- Park here.\n## Bus\nTake 14.\n\n"+rest,
		RestorePrompt(bad, changes, []int32{1, 2, 3, 4, 5, 6}))

	const last = "# First\nCall."
	atEnd := []*PromptChange{
		{Number: 1, Was: "# Way\n", At: len(last), BeginsLine: true, Section: new("First")},
		{Number: 2, Was: "- Park here.", At: len(last), BeginsLine: true, Section: new("Way")},
	}
	require.Equal(t, last+"\n# Way\n- Park here.", RestorePrompt(last, atEnd, []int32{2}))
}

// The runs of a flaky agent rarely accuse a change that does not matter, and reliable agents need no more steps.
func TestSearchRarelyAccusesInnocentChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, rates := range [][2]float64{{1, 0}, {.9, .1}, {.8, 0}, {.7, .1}, {.6, 0}} {
		for _, size := range [][2]int{{2, 1}, {7, 1}, {30, 1}, {7, 2}} {
			found, wrong := 0, 0
			for range 200 {
				cause := []int32{}
				for _, n := range random.Perm(size[0])[:size[1]] {
					cause = append(cause, int32(n+1))
				}
				s := searchOf(size[0], cause[0])
				verdict := s.runCounted(t, badPrompt, func(restored []int32) (passed int32) {
					rate := rates[1]
					if containsAll(restored, cause...) {
						rate = rates[0]
					}
					for range s.Repeats {
						if random.Float64() < rate {
							passed++
						}
					}
					return passed
				})
				if verdict == BlameVerdictFound {
					found++
				}
				if verdict == BlameVerdictFound && !containsAll(cause, s.CauseNumbers...) {
					wrong++
				}
			}
			require.LessOrEqual(t, 20*wrong, max(found, 40), "%v %v", rates, size)
		}
	}
}
