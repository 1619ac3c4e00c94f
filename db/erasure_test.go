package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestErasureFindsEverySpellingOfANumber(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	for number, c := range map[string]struct{ found, others []string }{
		"+4930123456": {
			[]string{"+4930123456", "004930123456", "+49 30 12 34 56", "+49 (0)30/123456", "(+49) 30-123456", "030 123456",
				"(030) 12.34.56", "0 30/12 34 56",
				"tel:4930123456x", "49 30 123456", "\uff0b\uff14\uff19\uff13\uff10\uff11\uff12\uff13\uff14\uff15\uff16",
				"+49\u201030\u2010123\u2010456", "+49\u200b30\u00ad123456",
				"\u0664\u0669\u0663\u0660\u0661\u0662\u0663\u0664\u0665\u0666", `"\u002B\uFF14\uff193\u0030123456"`,
				`"\\u00ad4930123456"`, `"\u00e94930123456"`, "[+49] 30 123456",
				"+49\u00a030\u00a0123456", `"+49\u00a030 123456"`},
			[]string{"0301234567", "14930123456", "49301234567", "4930123456\uff17", `"\u00314930123456"`, `4930123456\u0037`,
				"+49 30 123457", "+43 30 1234567", "1301234560", "30,123,456"},
		},
		"+12025550143": {
			[]string{"(202) 555-0143", "202-555-0143", "1 202 555 0143", "+1.202.555.0143", "0111 202 555 0143"},
			[]string{"202 555 01433", "92025550143", "202 555 0144"},
		},
		"+390612345678": {[]string{"06 1234 5678", "+39 06 12345678"}, []string{"6 1234 5678"}},
	} {
		canonical, pattern, ending, err := model.EraseContactInput{PhoneNumber: number}.Number()
		require.NoError(t, err)
		require.Equal(t, number, canonical)
		isFound := func(text string) (found bool) {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::text ~ $2 AND $1::text ~ $3", text, ending,
				pattern).Scan(&found), text)
			return found
		}
		for _, text := range c.found {
			require.True(t, isFound(text), "%s in %s", number, text)
		}
		for _, text := range c.others {
			require.False(t, isFound(text), "%s in %s", number, text)
		}
	}
	_, _, _, err := model.EraseContactInput{PhoneNumber: "030 123456"}.Number()
	require.ErrorContains(t, err, "phoneNumber")
}
