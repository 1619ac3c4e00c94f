package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/agentgraph/agentgraph/model"
)

const (
	suites     = 2_500
	maxRepeats = 20
	// worse is the factor by which all pass rates of a suite are multiplied to simulate that it got worse.
	worse = 0.8
)

// gate is a way to compare a suite with its baseline.
type gate struct {
	name string
	base int
	stop *model.StopRepeating
}

// simulate prints how often gates stop a suite that did not change, and one that got worse. The suite has a test for
// each task, with the pass rate of its trials.
func simulate(ctx context.Context, trials []trial, out io.Writer) error {
	rates := passRates(trials)
	good, bad := 0.9, 0.5
	decided := &model.StopRepeating{Good: &good, Bad: &bad}
	fmt.Fprintf(out, "  the gate, in %d suites simulated from the %d pass rates:\n", suites, len(rates))
	for _, g := range []gate{
		{"until decided, baseline of 20 runs", maxRepeats, decided},
		{"until decided, baseline of 4 runs", 4, decided},
		{"20 repeats, baseline of 20 runs", maxRepeats, nil},
		{"20 repeats, baseline of 4 runs", 4, nil},
	} {
		random := rand.New(rand.NewPCG(1, 1))
		alarms, found, runs := 0, 0, 0
		for range suites {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			isAlarm, n := g.isRegressed(random, rates, 1)
			isFound, _ := g.isRegressed(random, rates, worse)
			alarms, found, runs = alarms+count(isAlarm), found+count(isFound), runs+n
		}
		share := func(n int) float64 { return float64(n) / suites * 100 }
		fmt.Fprintf(out, "    %s: %.1f %% false alarms, %.0f %% of drops by a fifth detected, %.0f runs of each test\n",
			g.name, share(alarms), share(found), float64(runs)/suites/float64(len(rates)))
	}
	return nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isRegressed runs a suite against a new baseline. It returns the decision, and the number of the suite's runs. The
// runs of the baseline do not count.
func (g gate) isRegressed(random *rand.Rand, rates []float64, rateFactor float64) (is bool, runs int) {
	var base, head []*model.AgentTestExecutionTest
	for i, rate := range rates {
		before, after := suiteTest(i), suiteTest(i)
		for range g.base {
			before.Runs = append(before.Runs, outcome(random, rate))
		}
		var passed, failed int32
		for passed+failed < maxRepeats && (g.stop == nil || !g.stop.IsDecided(passed, failed)) {
			run := outcome(random, rate*rateFactor)
			if after.Runs = append(after.Runs, run); run.Status == model.AgentTestRunStatusPassed {
				passed++
			} else {
				failed++
			}
		}
		base, head, runs = append(base, before), append(head, after), runs+len(after.Runs)
	}
	c := model.CompareExecutions([]*model.AgentTestExecution{nil}, nil, base, head, model.AgentTestCorrectionHolm)
	return c.Conclusion == model.AgentTestConclusionRegressed ||
		slices.ContainsFunc(c.Tests, func(test *model.AgentTestComparisonTest) bool {
			return test.Conclusion == model.AgentTestConclusionRegressed
		}), runs
}

func suiteTest(i int) *model.AgentTestExecutionTest {
	return &model.AgentTestExecutionTest{TestID: fmt.Sprint(i)}
}

func outcome(random *rand.Rand, rate float64) *model.AgentTestRun {
	if random.Float64() < rate {
		return &model.AgentTestRun{Status: model.AgentTestRunStatusPassed}
	}
	return &model.AgentTestRun{Status: model.AgentTestRunStatusFailed}
}

// passRates returns the share of each task's trials that tau-bench rewards, in the order of the tasks.
func passRates(trials []trial) (rates []float64) {
	passed, runs := map[int]float64{}, map[int]float64{}
	for _, t := range trials {
		passed[t.Task] += t.Reward
		runs[t.Task]++
	}
	for _, task := range slices.Sorted(maps.Keys(runs)) {
		rates = append(rates, passed[task]/runs[task])
	}
	return rates
}
