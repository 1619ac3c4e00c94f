package model_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestSpellingsOfAnErasedNumber(t *testing.T) {
	t.Parallel()
	for number, c := range map[string]struct{ found, others []string }{
		"+4930123456": {
			[]string{"+4930123456", "004930123456", "+49 30 12 34 56", "+49 (0)30/123456", "(+49) 30-123456", "030 123456", "(030) 12.34.56", "0 30/12 34 56",
				"tel:4930123456x", "49 30 123456", "+49\u00a030\u00a0123456", `"+49\u00a030 123456"`},
			[]string{"0301234567", "+49 30 123457", "+43 30 1234567", "1301234560", "30,123,456"},
		},
		"+12025550143": {
			[]string{"(202) 555-0143", "202-555-0143", "1 202 555 0143", "+1.202.555.0143", "0111 202 555 0143"},
			[]string{"202 555 01433", "92025550143", "202 555 0144"},
		},
		"+390612345678": {[]string{"06 1234 5678", "+39 06 12345678"}, []string{"6 1234 5678"}},
	} {
		canonical, pattern, err := model.EraseContactInput{PhoneNumber: number}.Number()
		require.NoError(t, err)
		require.Equal(t, number, canonical)
		// Go knows no lookaround. The database does, and its test covers the ends.
		plain := regexp.MustCompile("(?:^|[^0-9])(?:" + strings.NewReplacer("(?<![0-9])", "", "(?![0-9])", "(?:$|[^0-9])").Replace(pattern) + ")")
		for _, text := range c.found {
			require.Regexp(t, plain, text, number)
		}
		for _, text := range c.others {
			require.NotRegexp(t, plain, text, number)
		}
	}
	_, _, err := model.EraseContactInput{PhoneNumber: "030 123456"}.Number()
	require.ErrorContains(t, err, "phoneNumber")
}
