package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Obstacles, such as settings that cannot work, are printed and counted. They do not change the exit code.
func TestWritesWithObstaclesAreReportedAndCounted(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Desk")
	const tests = `agentTests:
  - agent: Desk
    simulations:
      - name: Books
        scenario: Book a table.
        checks:
          - expect: {called: {technicalName: book_table, succeeded: true}}
          - expect: {turnsAtMost: 3}
            weight: 2
      - name: Greets
        scenario: Say hello.
        criteria: [says "hello"]
`
	company := write(t, `agents:
  - name: Desk
    channel: Web
    direction: Inbound
    language: en
    prompt: Help.
`+tests)
	const (
		weights = `Warning: simulation test "Books" of agent "Desk": the weights have no effect`
		calls   = `Warning: simulation test "Books" of agent "Desk": check 1 expects a call of book_table, which the agent cannot make`
	)
	output := c.good(t, key, "apply", "-f", company)
	require.Contains(t, output, weights)
	require.Contains(t, output, calls)
	require.Contains(t, output, "3 created, 0 changed, 0 deleted, 2 warnings\n")
	require.Contains(t, c.good(t, key, "apply", "-f", company), "Nothing differs.")

	edit(t, company, "turnsAtMost: 3", "turnsAtMost: 5")
	o := c.run(t, key, "apply", "-f", company, "--json")
	require.Zero(t, o.code, o.log)
	var report struct{ Warnings []string }
	require.NoError(t, json.Unmarshal([]byte(o.out), &report))
	require.Len(t, report.Warnings, 2, o.out)
	require.Equal(t, weights, "Warning: "+report.Warnings[0][:len(weights)-len("Warning: ")])

	changed := write(t, tests)
	edit(t, changed, "turnsAtMost: 3", "turnsAtMost: 4")
	output = c.good(t, key, "test", "import", changed)
	require.Contains(t, output, weights)
	require.Contains(t, output, "0 created, 1 changed, 0 deleted, 2 warnings\n")
}
