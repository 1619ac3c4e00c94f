package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunComparesVariants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(t, `mutation ($agent: ID!) { createSimulationTest(input: {agentId: $agent, name: "Opening",
		scenario: "says: \"When do you open?\"", criteria: ["says \"8 am\""], maxTurns: 2}) { agentTest { id } } }`,
		map[string]any{"agent": b.agent}, &struct{}{})
	dir := t.TempDir()
	draft, report, junit := filepath.Join(dir, "draft.md"), filepath.Join(dir, "out.json"), filepath.Join(dir, "junit.xml")
	markdown := filepath.Join(dir, "out.md")
	require.NoError(t, os.WriteFile(draft, []byte("\ufeff# Hours\n- We open at 8 am, every day.\n"), 0o600))

	got := b.test(t, "run", "--agent", b.agent, "--variant", "now", "--variant", "first:version=1", "--variant",
		"draft:prompt=@"+draft, "--repeat", "4", "--json", report, "--junit", junit, "--markdown", markdown)
	require.Equal(t, 1, got.code, got.log)
	require.Contains(t, got.log, "12 runs")
	require.Contains(t, got.out, "Opening · draft [4]")
	require.Regexp(t, `(?m)^VARIANT +PASSED +AGAINST now +CREDITS`, got.out)
	require.Regexp(t, `(?m)^now +0/4 \[0–49 %\] +– `, got.out)
	require.Regexp(t, `(?m)^first +0/4 \[0–49 %\] +cannot decide, p = 1 `, got.out)
	require.Regexp(t, `(?m)^draft +4/4 \[51–100 %\] +improved, p = 0\.0\d+ `, got.out)
	require.Regexp(t, `(?m)^TEST +now +first +draft$`, got.out)
	require.NotContains(t, got.out, "tokens read")
	require.Regexp(t, `(?m)^Opening +0/4 +0/4 +4/4`, got.out)

	var written struct {
		Execution struct {
			ID       string
			Variants []struct {
				Label      string
				Conclusion *string
				Tests      []struct{ Counts struct{ Passed int } }
			}
		}
		Runs []struct{ Variant string }
	}
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &written))
	require.Len(t, written.Runs, 12)
	require.Equal(t, "draft", written.Execution.Variants[2].Label)
	require.Equal(t, "Improved", *written.Execution.Variants[2].Conclusion)
	require.Equal(t, 4, written.Execution.Variants[2].Tests[0].Counts.Passed)
	text, err = os.ReadFile(junit)
	require.NoError(t, err)
	for _, suite := range []string{"now", "first", "draft"} {
		require.Contains(t, string(text), `<testsuite name="Front &lt;desk&gt; · `+suite+`" tests="4"`)
	}
	require.Equal(t, 1, strings.Count(string(text), `name="Opening · draft [1]"`))
	require.NotContains(t, string(text), "tokens read", "the offline model's tokens are estimates")

	text, err = os.ReadFile(markdown)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^\*\*Failed\*\*: 8 of 12 runs failed\n\n12 runs: 4 passed, 8 failed, 0 error, 0 cancelled\n\n`+
		`\[Console\]\(<.+>\)\n\n\| VARIANT \| PASSED \| AGAINST now \|.+\n(\|---){9}\|\n`+
		`\| now \| 0/4 \\\[0–49 %\\\] \| – .+\n\| draft \| 4/4 .+ improved, p = .+\n\n`+
		`\| TEST \| now \| first \| draft \|\n(\|---){4}\|\n\| Opening \| 0/4 \| 0/4 \| 4/4 .*\|\n$`, string(text))

	shown := b.test(t, "show", written.Execution.ID)
	require.Zero(t, shown.code, shown.log)
	require.Regexp(t, `(?m)^draft +4/4`, shown.out)

	for flag, want := range map[string]string{
		"now":            "given 2 to 12 times, not 1",
		"a,b:color=blue": "expected LABEL:model=NAME",
		"a,b:version=x":  "version must be a whole number",
		"a,b:prompt=Hi":  "prompt must be @ and the path of a file",
		"a,b:prompt=@no": "no such file",
		"a,b:model=none": "must be empty, because this server has no models",
		"a,b:version=7":  "names version 7, which the agent does not have",
		"a,a":            "must be unique among the variants",
	} {
		refused := b.test(t, "run", "--agent", b.agent, "--variant", flag)
		require.Equal(t, 2, refused.code, flag)
		require.Contains(t, refused.log, want)
	}
}
