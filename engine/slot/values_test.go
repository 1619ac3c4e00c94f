package slot

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

var tenth = time.Date(2026, time.October, 10, 0, 0, 0, 0, time.UTC) // a Saturday

func TestValuesAreFound(t *testing.T) {
	t.Parallel()
	const unasked, asked = false, true
	for _, test := range []struct {
		name, schema, text string
		asked              bool
		want               any
	}{
		{"day", `{"type":"string","format":"date"}`, "on 2026-11-02 please", unasked, "2026-11-02"},
		{"day", `{"type":"string","format":"date"}`, "le 4 mars 2027", unasked, "2027-03-04"},
		{"day", `{"type":"string","format":"date"}`, "March 4th", unasked, "2027-03-04"},
		{"day", `{"type":"string","format":"date"}`, "02/11/2026", unasked, "2026-11-02"},
		{"day", `{"type":"string","format":"date"}`, "Saturday", unasked, "2026-10-17"},
		{"day", `{"type":"string","format":"date"}`, "lundi", unasked, "2026-10-12"},
		{"day", `{"type":"string","format":"date"}`, "après-demain", unasked, "2026-10-12"},
		{"day", `{"type":"string","format":"date"}`, "31 February 2026", asked, nil},
		{"day", `{"type":"string","format":"date"}`, "I was born on 3 June 1975", unasked, nil},
		{"dateOfBirth", `{"type":"string","format":"date"}`, "I was born on 3 June 1975", unasked, "1975-06-03"},
		{"dateOfBirth", `{"type":"string","format":"date"}`, "tomorrow", unasked, nil},
		{"startsAt", `{"type":"string","format":"date-time"}`, "tomorrow at 2:30 pm", unasked, "2026-10-11T14:30:00Z"},
		{"startsAt", `{"type":"string","format":"date-time"}`, "demain à 9h20", unasked, "2026-10-11T09:20:00Z"},
		{"startsAt", `{"type":"string","format":"date-time"}`, "tomorrow", asked, nil},
		{"email", `{"type":"string","format":"email"}`, "it's ana.silva@example.com.", unasked, "ana.silva@example.com"},
		{"phoneNumber", `{"type":"string"}`, "call +44 7700 900114 please", unasked, "+447700900114"},
		{"phoneNumber", `{"type":"string"}`, "on 2026-11-02", unasked, nil},
		{"postcode", `{"type":"string"}`, "I was born in 1975, my postcode is ab1 2cd", unasked, "AB1 2CD"},
		{"guests", `{"type":"integer","minimum":4}`, "for 12 guests at 14:30", unasked, 12.0},
		{"guests", `{"type":"integer","minimum":4}`, "at 14:30", asked, nil},
		{"guests", `{"type":"integer","minimum":4}`, "three", asked, nil},
		{"guests", `{"type":"integer","minimum":4}`, "forty guests, all adults", unasked, 40.0},
		{"guests", `{"type":"integer","minimum":4}`, "twenty five guests", unasked, 25.0},
		{"guests", `{"type":"integer","minimum":4}`, "thirty-two", asked, 32.0},
		{"amount", `{"type":"number"}`, "it was 12,50 euros", asked, 12.5},
		{"lastName", `{"type":"string"}`, "my name is Ana Silva", unasked, "Silva"},
		{"firstName", `{"type":"string"}`, "Je m'appelle Claire Morel", unasked, "Claire"},
		{"fullName", `{"type":"string"}`, "It's Jo Park", asked, "Jo Park"},
		{"fullName", `{"type":"string"}`, "hello there", unasked, nil},
		{"fullName", `{"type":"string"}`, "samedi", asked, nil},
		{"lastName", `{"type":"string"}`, "this is Max", unasked, nil},
		{"lastName", `{"type":"string"}`, "Most people find it too dear", asked, nil},
		{"articleId", `{"type":"string"}`, "non merci", asked, nil},
		{"articleId", `{"type":"string"}`, "I never ordered this", asked, nil},
		{"request", `{"type":"string","pattern":"\\S","description":"A number with a date."}`, "on 2026-11-02", unasked, nil},
		{"startsAt", `{"type":"string","format":"date-time"}`, "le plus tôt possible", unasked, "2026-10-10T00:00:00Z"},
		{"startsAt", `{"type":"string","format":"date-time"}`, "tomorrow at 10", unasked, "2026-10-11T10:00:00Z"},
		{"orderNumber", `{"type":"string"}`, "order number 12345", unasked, "12345"},
		{"orderNumber", `{"type":"string","pattern":"^MM[0-9]{8}$"}`, "mm 20417733", unasked, "MM20417733"},
		{"trackingNumber", `{"type":"string","description":"Tracking number, for example MP88412207GB."}`,
			"it is mp11111111gb", unasked, "MP11111111GB"},
		{"bookingReference", `{"type":"string","pattern":"^[A-Z0-9]{6}$","description":"Booking."}`, "my flight is gone",
			unasked, nil},
		{"reason", `{"type":"string","enum":["damaged_in_transit","wrong_item"]}`, "il est arrivé abîmé", unasked,
			"damaged_in_transit"},
		{"kind", `{"type":"string","enum":["general","any"]}`, "I do not have any idea", unasked, nil},
		{"kind", `{"type":"string","enum":["general","any"]}`, "whatever", asked, "general"},
		{"excess", `{"type":"integer","enum":[0,150,300]}`, "an excess of 300", unasked, 300.0},
		{"kinds", `{"type":"array","items":{"type":"string","enum":["meal","hotel"]}}`, "un repas et un hôtel", unasked,
			[]any{"meal", "hotel"}},
		{"medicines", `{"type":"array","items":{"type":"string"}}`, "Ramipril and Amlodipine", asked,
			[]any{"Ramipril", "Amlodipine"}},
		{"withPool", `{"type":"boolean"}`, "a club with a pool", unasked, true},
		{"consent", `{"type":"boolean","const":true}`, "no", asked, nil},
		{"consent", `{"type":"boolean","const":true}`, "open a case, please", asked, nil},
		{"planName", `{"type":"string"}`, "because the plan Family Plus ends", unasked, "Family Plus"},
		{"writing", `{"type":"string","description":"What is written on it."}`, "a cake with “Happy birthday” written on it",
			unasked, nil},
		{"writing", `{"type":"string","description":"What is written on it."}`, "please have written “Happy birthday” on it",
			unasked, "Happy birthday"},
		{"writing", `{"type":"string","maxLength":5}`, "Happy birthday", asked, "Happy"},
	} {
		t.Run(test.name+": "+test.text, func(t *testing.T) {
			t.Parallel()
			p, ok := ReadProperty(test.name, json.RawMessage(test.schema))
			require.True(t, ok)
			value, found := p.ValueIn(test.text, test.asked, tenth)
			require.Equal(t, test.want != nil, found, "%v", value)
			if found {
				require.Equal(t, test.want, value)
			}
		})
	}
}

func TestSchemasThatNoRuleFills(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`:                          false,
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                                           true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"]}`: false,
		`[]`: false,
		``:   true,
	} {
		_, ok := readTool(llm.Tool{Name: "book", Parameters: json.RawMessage(schema)})
		require.Equal(t, want, ok, schema)
	}
}

func TestMentionsFindsWholeWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"order": false, "order_id": true, "use": false, "Uses": true, "": false} {
		require.Equal(t, want, Mentions("Uses order_id first", name), name)
	}
}
