package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestQuotesAreFoundInMessagesAndCalls(t *testing.T) {
	t.Parallel()
	result, failure := `{"status": "ok", "says": "It's \"done\""}`, "the tool answered 500"
	message := transcriptMessage{
		Text: "It’s on  Monday,\nat “nine” – not ten. C'est «\u00a0prêt\u00a0» (a+b)*2.",
		Calls: []transcriptCall{
			{Name: "book", Arguments: model.JSONObject(`{"day":"Monday","who":{"name":"Ana <Ann>"}}`), Result: &result},
			{Name: "ask_expert", Arguments: model.JSONObject(`{}`), Error: &failure},
		},
	}
	for quote, want := range map[string]string{
		"on Monday":                        "on  Monday",
		"Monday, at":                       "Monday,\nat",
		`It's on Monday, at "nine"`:        "It’s on  Monday,\nat “nine”",
		`"nine" - not`:                     "“nine” – not",
		`"on Monday,"`:                     "on  Monday,",
		`« prêt »`:                         "«\u00a0prêt\u00a0»",
		`C’est " prêt " (a+b)`:             "C'est «\u00a0prêt\u00a0» (a+b)",
		"(a+b)*2":                          "(a+b)*2",
		`'"book"'`:                         "book",
		"book":                             "book",
		`book {"day": "Monday"`:            `book {"day":"Monday"`,
		`"day":"Monday"`:                   `"day":"Monday"`,
		`"name": "book"`:                   `"name":"book"`,
		`{ "name": "Ana <Ann>" }`:          `{"name":"Ana <Ann>"}`,
		`"status":"ok"`:                    `"status": "ok"`,
		"the tool  answered 500":           "the tool answered 500",
		`{"name":"ask_expert","arguments"`: `{"name":"ask_expert","arguments"`,
	} {
		found, _ := message.find(quote, nil)
		require.Equal(t, want, found, quote)
	}
	for _, quote := range []string{
		"", "  ", `""`, "…", "onMonday", "Mon day", "theTool", "thetool answered", "Tuesday", "Monday … nine", "It s on",
		".*", "[a-z]+", "a+b)*3", `book {"day":"Tuesday"}`, "pret",
	} {
		found, _ := message.find(quote, nil)
		require.Empty(t, found, quote)
	}
}

func TestLettersCanBeQuoted(t *testing.T) {
	t.Parallel()
	for text, quote := range map[string]string{"B": "B", "B.": "B.", "я": "я", "É": "É", "Yes, plan B.": "B"} {
		found, _ := transcriptMessage{Text: text}.find(quote, nil)
		require.Equal(t, quote, found, text)
	}
	found, _ := transcriptMessage{Text: "Because"}.find("B", nil)
	require.Empty(t, found)
}

func TestRetrievedPassagesCanBeQuoted(t *testing.T) {
	t.Parallel()
	message := transcriptMessage{
		Calls: []transcriptCall{{Name: "knowledge_base", excerpts: []string{"First \"line\"\nsecond line"}}}}
	quoted, _ := message.find("\"line\" second", nil)
	require.Equal(t, "\"line\"\nsecond", quoted)
}

func TestQuoteNamesItsCall(t *testing.T) {
	t.Parallel()
	none := "none"
	message := transcriptMessage{Text: "Monday is none.", Calls: []transcriptCall{
		{id: "call_1", Name: "find", Arguments: model.JSONObject(`{"day":"Monday"}`), Result: &none},
		{id: "call_2", Name: "find", Arguments: model.JSONObject(`{"day":"Monday"}`)},
		{id: "call_3", Name: "book", Arguments: model.JSONObject(`{"day":"Tuesday"}`)},
	}}
	cited := map[string]bool{}
	for _, want := range []struct{ quote, call string }{
		{"Monday", ""}, {"none", ""}, {`find {"day":"Monday"}`, "call_1"}, {`find {"day":"Monday"}`, "call_2"},
		{`find {"day":"Monday"}`, "call_1"}, {`"result":"none"`, "call_1"}, {"Tuesday", "call_3"}, {"Wednesday", ""},
	} {
		_, call := message.find(want.quote, cited)
		if want.call == "" {
			require.Nil(t, call, want.quote)
			continue
		}
		require.Equal(t, want.call, *call, want.quote)
		cited[*call] = true
	}
}

// exchange has messages and calls of an agent, as a judge sees them.
var exchange = transcriptMessage{
	Text: "Your ﬁrst visit is booked for **Monday, 2 March** at 9:30, room ２０４.\n\n- Bring your “blue” card\n- It’s " +
		"€10.50…\n\n" +
		"> You can’t cancel – it is non\u2011refundable.\n\nUse `book_slot` again, Mr.\u00a0Smith. I can do that; l’agent " +
		"Ömer’s free. It is -5 °C.",
	Calls: []transcriptCall{{id: "call_1", Name: "book_slot",
		Arguments: model.JSONObject(`{"day": "Monday", "seats": 2, "hours": ["09:00","10:00"]}`)}},
}

func TestFaithfulQuotesAreAccepted(t *testing.T) {
	t.Parallel()
	for form, quote := range map[string]string{
		"a plain blank for a protected one":  "Mr. Smith",
		"typewriter quotation marks":         `your "blue" card`,
		"no quotation marks":                 "Bring your blue card",
		"a typewriter apostrophe":            "It's €10.50",
		"dots for an ellipsis":               "It’s €10.50...",
		"another dash":                       "You can't cancel - it is non-refundable",
		"a dash without blanks":              "You can’t cancel—it is non-refundable.",
		"no bold":                            "booked for Monday, 2 March at 9:30",
		"bold of its own":                    "is **booked** for",
		"no code marks":                      "Use book_slot again",
		"a period of its own":                "I can do that.",
		"a capital of its own":               "Is booked for",
		"a zero width space":                 "is boo\u200bked for",
		"letters for a ligature":             "Your first visit",
		"narrow digits for wide ones":        "room 204",
		"blanks for line breaks and bullets": "room 204. Bring your “blue” card It’s €10.50",
		"doubled blanks":                     "visit  is   booked",
		"an elided article":                  "agent Ömer's free",
		"a decomposed letter":                "O\u0308mer’s free",
		"a call in words of JSON":            `book_slot {"day":"Monday","seats":2`,
		"one of a list":                      `"10:00"`,
	} {
		found, _ := exchange.find(quote, nil)
		require.NotEmpty(t, found, "%s: %q", form, quote)
	}
}

func TestFalseQuotesAreRefused(t *testing.T) {
	t.Parallel()
	for form, quote := range map[string]string{
		"what the contact said":          "Monday would be fine for me",
		"words left out":                 "visit is for Monday",
		"words left out with dots":       "visit … booked",
		"words in another order":         "booked is for Monday",
		"a word put in":                  "is now booked for Monday",
		"a negation put in":              "is not booked for Monday",
		"a negation left out":            "You can cancel",
		"a contraction cut off":          "You can",
		"a compound cut off":             "refundable",
		"a compound cut at its end":      "it is non",
		"another number":                 "room 205",
		"a part of a number":             "04",
		"the whole part of a number":     "€10",
		"the decimals of a number":       "50",
		"the minutes of a time":          "30",
		"a number without its sign":      "5 °C",
		"a number with another point":    "€10,50",
		"a number without its point":     "€1050",
		"a superscript":                  "room 20⁴",
		"another day":                    "booked for Tuesday",
		"the beginning of a word":        "Mon",
		"the end of a word":              "day, 2 March",
		"words run together":             "isbooked",
		"a word torn apart":              "boo ked",
		"joined with the next message":   "It is -5 °C. Goodbye",
		"joined with a call":             "It is -5 °C. book_slot",
		"a letter that is a word":        "I",
		"two single letters":             "I, I",
		"punctuation":                    "…",
		"marks":                          "** **",
		"nothing that is seen":           "\u200b\ufeff",
		"an accent left out":             "Omer’s free",
		"another name of a tool":         "book_slots",
		"a tool's name without a hyphen": "book slot",
		"another argument":               `book_slot {"day":"Tuesday"`,
		"another list":                   `"09:0"`,
		"a translation":                  "est réservé pour lundi",
	} {
		found, _ := exchange.find(quote, nil)
		require.Empty(t, found, "%s: %q", form, quote)
	}
}
