package engine

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func TestFindQuote(t *testing.T) {
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
		"", "  ", `""`, "…", "on monday", "onMonday", "Mon day", "theTool", "thetool answered", "Tuesday", "Monday … nine", "It s on", ".*", "[a-z]+", "a+b)*3", `book {"day":"Tuesday"}`, "pret",
	} {
		found, _ := message.find(quote, nil)
		require.Empty(t, found, quote)
	}
}

func TestAQuoteNamesItsCall(t *testing.T) {
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

// normal returns a text in the form in which find compares it, by another method.
func normal(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '“', '”', '„', '‟', '«', '»':
			return '"'
		case '‘', '’', '‚', '‛', '‹', '›', '`', '´':
			return '\''
		case '‐', '‑', '‒', '–', '—', '―', '−':
			return '-'
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

func TestFindQuoteProperties(t *testing.T) {
	t.Parallel()
	pieces := []string{" ", "\n", "\t", "\u00a0", "\u202f", "\"", "“", "»", "'", "’", "`", "-", "—", ".", "*", "(", "[", "\\", "|", "a", "b", "é", "ß", "Monday", "7", "日", "\u0301"}
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
	})
	t.Run("what stands there is found", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text := []rune(texts.Draw(t, "text"))
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			quote := text[from:rapid.IntRange(from, len(text)).Draw(t, "to")]
			shaped := strings.Map(func(r rune) rune {
				switch {
				case unicode.IsSpace(r):
					return rapid.SampledFrom([]rune(" \n\t\u00a0\u202f")).Draw(t, "space")
				case strings.ContainsRune(doubleMarks, r):
					return rapid.SampledFrom([]rune(doubleMarks)).Draw(t, "double")
				case strings.ContainsRune(singleMarks, r):
					return rapid.SampledFrom([]rune(singleMarks)).Draw(t, "single")
				case strings.ContainsRune(dashes, r):
					return rapid.SampledFrom([]rune(dashes)).Draw(t, "dash")
				}
				return r
			}, string(quote))
			found, _ := transcriptMessage{Text: string(text)}.find(shaped, nil)
			if want := strings.ContainsFunc(shaped, isWord); (found != "") != want {
				t.Fatalf("%q in %q: found %q", shaped, string(text), found)
			}
		})
	})
	t.Run("what is found stands there", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text, quote := texts.Draw(t, "text"), texts.Draw(t, "quote")
			found, _ := transcriptMessage{Text: text}.find(quote, nil)
			ok := found != ""
			bare := strings.Trim(normal(quote), "\"' ")
			switch {
			case ok && !strings.Contains(text, found):
				t.Fatalf("%q is not in %q", found, text)
			case ok && normal(found) != bare && normal(found) != normal(quote):
				t.Fatalf("%q was found for %q", found, quote)
			case !ok && strings.ContainsFunc(bare, isWord) && strings.Contains(normal(text), bare):
				t.Fatalf("%q was not found in %q", quote, text)
			}
		})
	})
}
