package offline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessagesInOtherLanguagesAreAnsweredInTheirLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"me robaron el bolso en Madrid, qué hago":       "Lo siento",
		"tienen plaza para dos personas mañana?":        "Lo siento",
		"perdón, no entiendo nada, de qué me habla":     "Lo siento",
		"Ist mein Paket schon unterwegs?":               "Es tut mir leid",
		"kann ich den termin verschieben":               "Es tut mir leid",
		"wir kommen erst am abend nach hause":           "Es tut mir leid",
		"Buongiorno, vorrei cambiare il mio volo":       "Mi dispiace",
		"onde está a minha encomenda?":                  "Desculpe",
		"ik ben morgen niet thuis":                      "Sorry, ik",
		"где моя посылка":                               "I am sorry, I speak only English and French",
		"我的包裹在哪里":                                       "I am sorry, I speak only English and French",
		"was it in the post on the 4th or not":          "",
		"no me and my son are fine":                     "",
		"la porte du garage, c'est possible ?":          "",
		"on se voit demain au comptoir":                 "",
		"lemon drizzle, 8 people, friday":               "",
		"do u do pedicure":                              "",
		"Can you find Frau Müller? She had the morgen…": "",
		"SN 40-2291-AX":                                 "",
		"rien ne marche plus":                           "",
		"t'es un robot ?":                               "",
		"O'Neill-García":                                "",
		"for Seán O'Neill-García":                       "",
		"Maria dos Santos e Silva":                      "",
		"Guten Tag":                                     "Es tut mir leid",
		"in am Main Street, is that in the area":        "",
	} {
		got := foreign(text)
		if want == "" {
			require.Empty(t, got, text)
		} else {
			require.True(t, strings.HasPrefix(got, want), "%s: %s", text, got)
		}
	}
}
