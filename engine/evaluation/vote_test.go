package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestVotesNeedAClearMajority(t *testing.T) {
	t.Parallel()
	const yes = `{"evidence":[],"rationale":"It does.","passed":true}`
	const no = `{"evidence":[],"rationale":"It does not.","passed":false}`
	for name, test := range map[string]struct {
		votes     int
		answers   []string
		passed    bool
		agreement float64
		fault     string
	}{
		"all of three": {3, []string{yes, yes, yes}, true, 1, ""},
		"two of three": {3, []string{no, yes, no}, false, 2.0 / 3, ""},
		"four of five": {5, []string{no, yes, yes, yes, yes}, true, 0.8, ""},
		"three of five": {5, []string{no, yes, yes, no, yes}, false, 0,
			`its votes disagree about "Is never rude": 3 of 5 votes say that it holds`},
		"one unusable vote of three":  {3, []string{"?", "?", no, no}, false, 2.0 / 3, ""},
		"two unusable votes of three": {3, []string{"?", "?", no, "?", "?"}, false, 0, "two of its answers in a row cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lines(test.answers...)
			jury := as(p, model.RunErrorCauseJudge)
			jury.votes = test.votes
			results, err := judge(t.Context(), nil, jury, []string{"Is never rude"}, transcript{})
			require.Len(t, p.asked, len(test.answers))
			require.Nil(t, p.asked[0].Temperature)
			require.InDelta(t, laterVotes, *p.asked[len(p.asked)-1].Temperature, 0)
			if test.fault != "" {
				require.Contains(t, requireRunFault(t, err, model.RunErrorCauseJudge), test.fault)
				require.Empty(t, results)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.passed, results[0].Passed)
			require.InDelta(t, test.agreement, *results[0].Agreement, 1e-9)
		})
	}
}
