package db_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestErasureFindsEverySpellingOfANumber(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	for number, c := range map[string]struct{ found, others, possible []string }{
		"+4930123456": {
			[]string{"+4930123456", "004930123456", "+49 30 12 34 56", "+49 (0)30/123456", "(+49) 30-123456", "030 123456",
				"(030) 12.34.56", "0 30/12 34 56",
				"tel:4930123456x", "49 30 123456", "\uff0b\uff14\uff19\uff13\uff10\uff11\uff12\uff13\uff14\uff15\uff16",
				"+49\u201030\u2010123\u2010456", "+49\u200b30\u00ad123456",
				"\u0664\u0669\u0663\u0660\u0661\u0662\u0663\u0664\u0665\u0666", `"\u002B\uFF14\uff193\u0030123456"`,
				`"\\u00ad4930123456"`, `"\u00e94930123456"`, "[+49] 30 123456",
				"+49\u00a030\u00a0123456", `"+49\u00a030 123456"`, "+49\u202f30\u2007123\u202f456", `"+49\u202f30\u2007123456"`,
				"030'123'456", "030\u2019123\u2019456", "030\u00b7123456", "030 \u2022 123456", "030_123_456", "+49&nbsp;30&nbsp;123456",
				`"030\u0026nbsp;123456"`, "030&#160;123456", `"030\/123456"`, "+49     30 123456", "+49 89 111111 / 030 123456",
				"030 111111, 030 123456", "1: 030 123456", `12\n030 123456`, "+43 664 1234567 and 030 123456", "10:00 5: 030 123456",
				"9.00, 030 123456", "5+49 30 123456", "https://wa.me/?text=Call%20030123456", "tel:+49%2030%20123456", "?p=%2B49%2030%20123456"},
			[]string{"0301234567", "14930123456", "49301234567", "4930123456\uff17", `"\u00314930123456"`, `4930123456\u0037`,
				"+49 30 123457", "+43 30 1234567", "1301234560", "30,123,456",
				"+43 30 123456", "+43 (0)30 123456", "0043 30 123456", "00 43 / 30 123456", "+4 3 - 30 123456", "+43\u202f30123456",
				"+49 89 30 123456", "(+43) 30 123456", `"\u002b43 30 123456"`, "+43 49 30 123456", "30;123456", "30:12:34:56"},
			[]string{"DE12 030 123456", "8000 030 123456", "12-030 123456", "8000 49 30 123456", "030 123456 78",
				"+49 30 123456-78", "3012 3456 7890 1234", "<td>030</td><td>123456</td>", `<li class=\"a\">30</li><li>123456</li>`,
				"<td>+43</td><td>30 123456</td>", "030\t123456", "030\n123456", `49\n30123456`, "30+123456", "49+30123456",
				"030    123456", "Order 30123456", "8,4930123456", "30.123456"},
		},
		"+12025550143": {
			[]string{"(202) 555-0143", "202-555-0143", "1 202 555 0143", "+1.202.555.0143", "0111 202 555 0143"},
			[]string{"202 555 01433", "92025550143", "202 555 0144", "+44 202 555 0143", "+44 (202) 555-0143"},
			[]string{"5 202 555 0143"},
		},
		"+390612345678": {[]string{"06 1234 5678", "+39 06 12345678"}, []string{"6 1234 5678"}, nil},
		"+436641234567": {[]string{"+43 664 1234567", "0664 1234567", "0043 (0)664/1234567", "664 1234567"},
			[]string{"+49 664 1234567", "0041 664 1234567", "+49 0664 1234567", "<b>+49</b> 664 1234567"},
			[]string{"<td>+49</td><td>664 1234567</td>", "0664/1234567-0"}},
	} {
		search, err := model.EraseContactInput{PhoneNumber: number}.Search()
		require.NoError(t, err)
		require.Equal(t, number, search.Number)
		mayBeIn := func(text string) (found bool) {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::text ~ $2", text, search.Ending).Scan(&found), text)
			return found
		}
		for _, text := range c.found {
			assert.True(t, mayBeIn(text) && search.Contains(text), "%s in %s", number, text)
		}
		for _, text := range c.others {
			assert.False(t, search.MayContain(text), "%s in %s", number, text)
		}
		for _, text := range c.possible {
			assert.False(t, search.Contains(text), "%s in %s", number, text)
			assert.True(t, mayBeIn(text) && search.MayContain(text), "%s in %s", number, text)
		}
	}
}
