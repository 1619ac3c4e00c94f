package db_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Numbers of eight countries, in texts that also have names, mail addresses, HTML and JSON.
func TestErasureTellsNumbersFromOthers(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	for number, c := range map[string]struct{ found, others []string }{
		"+4930123456": {
			[]string{"Entwickler C++ 11 / 030 123456", "Punkte: +5\n030 123456", "030&thinsp;123&thinsp;456",
				"<b>030</b> 12 34 56", `{"phone":"\u002b49\u2009(0)30\u2009123456"}`},
			[]string{`{"price":49.30123456}`, `{"lat":-49.30123456,"lon":8.1}`, "0.30123456", "+30 123456",
				"anna301234567@example.de", "Agent 007 030123457"},
		},
		"+436641234567": {
			[]string{"Anna Müller <anna@example.at>, 0664&ensp;123&ensp;45&ensp;67", "+43 (664) 123-45-67"},
			[]string{"0049 (0)664 1234567", "Max Maier 06641234568"},
		},
		"+41446681800": {
			[]string{"044 668 18 00", `<a href=\"tel:+41446681800\">Zentrale<\/a>`},
			[]string{`{"lat":44.6681800}`, "IBAN CH93 0044 6681 8001"},
		},
		"+442079460958": {
			[]string{"020 7946 0958", "+44 (0) 20 7946 0958"},
			[]string{"+33 20 7946 0958", `{"n":2.079460958}`},
		},
		"+33142685300": {
			[]string{"01.42.68.53.00", "+33.142685300"},
			[]string{"1,42,68,53,00"},
		},
		"+12025550143": {
			[]string{"(202)&nbsp;555&ndash;0143", "+1.2025550143"},
			[]string{`{"km":1.2025550143}`, "+7 202 555 0143"},
		},
		"+390612345678": {[]string{"Tel. 06/1234.5678"}, []string{"0.612345678"}},
		"+919876543210": {[]string{"09876543210@example.in"}, []string{`{"v":98.76543210}`}},
	} {
		search, err := model.EraseContactInput{PhoneNumber: number}.Search()
		require.NoError(t, err)
		isFound := func(text string) (found bool) {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::text ~ $2 AND $1::text ~ $3", text, search.Ending,
				search.Pattern).Scan(&found), text)
			return found
		}
		for _, text := range c.found {
			assert.True(t, isFound(text), "%s in %s", number, text)
		}
		for _, text := range c.others {
			assert.False(t, isFound(text), "%s in %s", number, text)
		}
	}
}
