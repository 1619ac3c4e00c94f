package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person fills in a table of the queue. Its labels correct the pass rate, which the gate compares.
func TestLabelsAreFilesAndGate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	asked.Store(1) // from now on the judge says yes
	b := newBench(t, "--judge-model", "strict", "--judge-base-url", judgeProvider(t, &asked), "--judge-api-key",
		"strict-key")
	test := b.simulation(t, "Judged", holds, undecided)
	gate := []string{"run", "--test", test, "--repeat", "20", "--concurrency", "20", "--min-pass-rate", "0.9"}
	require.Equal(t, 2, b.test(t, "run", "--test", test, "--corrected").code, "without a rate")
	o := b.test(t, append(gate, "--corrected")...)
	require.Equal(t, 5, o.code, "%s%s", o.out, o.log)
	require.Contains(t, o.out, "there is no corrected pass rate: people labeled fewer than 20")

	o = b.test(t, "labels", "export", "--agent", b.agent, "--queue", "30", "--blind", "--person", "Ann")
	require.Zero(t, o.code, o.log)
	rows, err := csv.NewReader(strings.NewReader(o.out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 21)
	require.Equal(t, []string{"run_id", "criterion", "holds", "person", "note", "sampled", "expected", "verdict",
		"rationale", "conversation"}, rows[0])
	require.Equal(t, []string{"Ann", "", "yes", undecided, "", ""}, rows[1][3:9])
	require.Contains(t, rows[1][9], "Welcome.")
	var text strings.Builder
	for i, row := range rows[1:] {
		row[2] = map[bool]string{true: "Yes", false: "no"}[i%2 == 0]
		row[4] = "=SUM(1)"
	}
	unanswered := []string{"run_none", undecided, "", "", "", "", "", "", "", ""}
	require.NoError(t, csv.NewWriter(&text).WriteAll(append(rows, unanswered)))
	file := filepath.Join(t.TempDir(), "ann.csv")
	require.NoError(t, os.WriteFile(file, []byte("\ufeff"+text.String()), 0o600))
	o = b.test(t, "labels", "import", file)
	require.Zero(t, o.code, o.log)
	require.Contains(t, o.out, "20 labels saved.")
	require.NoError(t, os.WriteFile(file, []byte("run_id,criterion,holds\nr,c,maybe\n"), 0o600))
	require.Contains(t, b.test(t, "labels", "import", file).log, `line 2: the column "holds" must be yes or no, not "maybe"`)
	header, labeled := "run_id,criterion,holds,note\n", ","+undecided+",,\"a\nb\"\n"
	for third, says := range map[string]string{
		rows[1][0] + "," + undecided + ",yes," + strings.Repeat("n", 5000): ": line 6: note must have ",
		rows[1][0] + ",Is kind,yes,":                                       `: line 6: criterion is not one of the criteria `,
		"run_none," + undecided + ",yes,":                                  ": line 6: ",
	} {
		text := header + strings.Repeat(rows[1][0]+labeled, 2) + third + "\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		o = b.test(t, "labels", "import", file)
		require.Equal(t, 2, o.code, o.log)
		require.Contains(t, o.log, "0 labels saved, then: "+file+says)
	}

	o = b.test(t, "labels", "export", "--agent", b.agent)
	require.Zero(t, o.code, o.log)
	require.Contains(t, o.out, ",Ann,'=SUM(1),yes,", "spreadsheets calculate nothing")
	require.NoError(t, os.WriteFile(file, []byte(o.out), 0o600))
	require.Zero(t, b.test(t, "labels", "import", file).code)
	require.Equal(t, 20, strings.Count(b.test(t, "labels", "export", "--agent", b.agent).out, ",'=SUM(1),"))
	o = b.test(t, "labels", "show", "--agent", b.agent)
	require.Zero(t, o.code, o.log)
	require.Contains(t, o.out, "10 of 20 [30–70 %]")

	o = b.test(t, append(gate, "--corrected")...)
	require.Equal(t, 1, o.code, "%s%s", o.out, o.log)
	require.Regexp(t, `Corrected for the judge's errors: [45]\S* % \[\d+–\d+ %\], by 20 labels of people`, o.out)
	require.Regexp(t, `the corrected pass rate is \S+ %, below 90 %`, o.out)
	require.Zero(t, b.test(t, gate...).code, "the judge passes all runs")
	o = b.test(t, append(gate[:len(gate)-1], "0.2", "--corrected")...)
	require.Zero(t, o.code, "%s%s", o.out, o.log)
	require.Regexp(t, `Passed: the corrected pass rate is \S+ %, at least 20 %`, o.out, "although all runs passed")
}
