package db_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Numbers of eleven countries, in texts that also have names, mail addresses, HTML and JSON.
func TestErasureTellsNumbersFromOthers(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	for number, c := range map[string]struct{ found, others []string }{
		"+4930123456": {
			[]string{"Entwickler C++ 11 / 030 123456", "Punkte: +5\n030 123456", "030&thinsp;123&thinsp;456",
				"<b>030</b> 12 34 56", `{"phone":"\u002b49\u2009(0)30\u2009123456"}`,
				`<td>Büro</td><td>+49&#8239;30&#x2009;123456</td>`},
			[]string{`{"price":49.30123456}`, `{"lat":-49.30123456,"lon":8.1}`, "0.30123456", "+30 123456",
				"anna301234567@example.de", "Agent 007 030123457",
				`{"at":[8.4,49.30123456]}`, `{"score":0.30123456}`},
		},
		"+436641234567": {
			[]string{"Anna Müller <anna@example.at>, 0664&ensp;123&ensp;45&ensp;67", "+43 (664) 123-45-67",
				`0043&emsp;664/12 34 567`},
			[]string{"0049 (0)664 1234567", "Max Maier 06641234568",
				`{"amount":664.1234567}`},
		},
		"+41446681800": {
			[]string{"044 668 18 00", `<a href=\"tel:+41446681800\">Zentrale<\/a>`,
				`+41 (0)44 <i>668</i> <i>18 00</i>`},
			[]string{`{"lat":44.6681800}`, "IBAN CH93 0044 6681 8001",
				`+1 446 681 8001`},
		},
		"+442079460958": {
			[]string{"020 7946 0958", "+44 (0) 20 7946 0958",
				`(020)&nbsp;7946&#8209;0958`},
			[]string{"+33 20 7946 0958", `{"n":2.079460958}`,
				`Order 202079460958`},
		},
		"+33142685300": {
			[]string{"01.42.68.53.00", "+33.142685300",
				`Jean-Luc <33142685300@sms.example.fr>`},
			[]string{"1,42,68,53,00",
				`+49 1 42 68 53 00`},
		},
		"+12025550143": {
			[]string{"(202)&nbsp;555&ndash;0143", "+1.2025550143",
				`"call":"1\u2011202\u2011555\u20110143"`},
			[]string{`{"km":1.2025550143}`, "+7 202 555 0143",
				`<b>+44</b> 202 555 0143`},
		},
		"+390612345678": {[]string{"Tel. 06/1234.5678",
			`Sig. Rossi: 0039&nbsp;06&nbsp;1234&nbsp;5678`}, []string{"0.612345678"}},
		"+919876543210": {[]string{"09876543210@example.in",
			`<span class=\"tel\">+91<\/span>&#160;98765&#160;43210`}, []string{`{"v":98.76543210}`,
			`jo.98765432101@example.in`}},
		"+819012345678": {
			[]string{
				"090-1234-5678", "０９０－１２３４－５６７８", "+81 90-1234-5678", "+81-(0)90-1234-5678", "(090)1234-5678", "090ー1234ー5678",
				"090(1234)5678", "電話:09012345678", "☎０９０（１２３４）５６７８", "tel:+819012345678", "0081 90 1234 5678",
				`{"phone":"\uff10\uff19\uff10-1234-5678"}`, "090 1234 5678",
				"<span>090</span>-<span>1234</span>-<span>5678</span>", "090&#8209;1234&#8209;5678",
				"https://wa.me/819012345678", "090・1234・5678", "「090-1234-5678」まで", "+81 90 1234 5678（携帯）",
			},
			[]string{
				"¥90,1234,5678", "ts=1709012345678", "注文番号 90123456789", "+82 90-1234-5678", `{"lat":35.9012345678}`,
				"35,9012345678", "080-1234-5678", "03-9012-3456-78 内線",
			},
		},
		"+5511961234567": {
			[]string{
				"(11) 96123-4567", "+55 11 96123-4567", "+55 (11) 96123-4567", "0xx11 96123-4567",
				"5511961234567@s.whatsapp.net", "https://wa.me/5511961234567", "11961234567", "11 9.6123-4567", "11-96123-4567",
				"0055 11 96123 4567", "+55 11 9 6123 4567", "+55%2011%2096123-4567", "tel:+55-11-96123-4567", "[11] 96123.4567",
				"Fone/Zap: 11/96123-4567", "(11)&nbsp;96123&#45;4567",
			},
			[]string{
				"+351 11 96123 4567", "CNPJ 11.961.234/5670-01", "BR15 0000 0000 0000 1196 1234 567", "(21) 96123-4567",
				`{"v":11.961234567}`, "pedido 1196123456", "R$ 8,11961234567",
			},
		},
		"+79123456789": {
			[]string{
				"8 912 345-67-89", "8(912)345-67-89", "+7 912 345 67 89", "+7(912)3456789", "89123456789", "79123456789",
				"7-912-345-67-89", "9123456789", "912 345 67 89", "8–912–345–67–89", "тел. 8.912.345.67.89", "8/912/345/67/89",
				"моб.+7 912 345-67-89,", "8 (912) 345 6789", `<a href="tel:+79123456789">`,
				"8&nbsp;912&nbsp;345&#8209;67&#8209;89", `"\u002b7 912 345-67-89"`, "+7 (912) 345 - 67 - 89",
				"8 912 <b>345-67-89</b>",
			},
			[]string{
				"+375 9123456789", "ts 1709123456789", "59.9123456789,30.31", "+7 812 345-67-89", "Заказ 891234567890",
			},
		},
	} {
		search, err := model.EraseContactInput{PhoneNumber: number}.Search()
		require.NoError(t, err)
		isFound := func(text string) (found bool) {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::text ~ $2", text, search.Ending).Scan(&found), text)
			return found && search.Contains(text)
		}
		for _, text := range c.found {
			assert.True(t, isFound(text), "%s in %s", number, text)
		}
		for _, text := range c.others {
			assert.False(t, isFound(text), "%s in %s", number, text)
		}
	}
}

// Postgres must preselect every text in which Go finds the number.
func TestErasureReadsEveryTextWithTheNumber(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	search, err := model.EraseContactInput{PhoneNumber: "+4930123456"}.Search()
	require.NoError(t, err)
	gaps := []string{"", "", "", " ", "-", "\u30fc", "\u200b", "\u00ad", "&nbsp;", `\u0026thinsp;`, "&#8239;", "%20",
		"%2D", "<b>", `<\/td><td class=\"a1\">`, `\u003cb\u003e`, `\n`, `\\r\\n`, `\\/`, "\n", "·", "+", "(", "～", " - "}
	texts := []string{}
	for seed := range uint64(20_000) {
		random, text := rand.New(rand.NewPCG(1, seed)), &strings.Builder{}
		text.WriteString([]string{"", "+49", "0", "\uff10", `\u0030`, "&#48;"}[random.IntN(6)])
		for _, digit := range "30123456" {
			text.WriteString(gaps[random.IntN(len(gaps))])
			switch n := digit - '0'; random.IntN(8) {
			case 0:
				text.WriteRune('\uff10' + n)
			case 1:
				text.WriteString(`\u003` + string(digit))
			case 2:
				text.WriteString("&#x3" + string(digit) + ";")
			default:
				text.WriteRune(digit)
			}
		}
		if search.MayContain(text.String()) {
			texts = append(texts, text.String())
		}
	}
	require.Greater(t, len(texts), 10_000)
	var missed []string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT array(SELECT held FROM unnest($1::text[]) AS held "+
		"WHERE held !~ $2 LIMIT 10)", texts, search.Ending).Scan(&missed))
	require.Empty(t, missed)
}
