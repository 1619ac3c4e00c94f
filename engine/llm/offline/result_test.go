package offline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDetectsResults(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"status":"success","message":"It is done."}`:                     "It is done.",
		`{"lastStop":"Harbour","eta":{"day":"Monday"},"late":false}`:       "last stop Harbour, day Monday, late: no",
		`{"reference":"B1","slots":[{"id":"S1","at":"9:20"},{"id":"S2"}]}`: "reference B1\n1) 9:20\n2) S2",
		`{"vouchers":["meal","hotel"],"none":null,"empty":[]}`:             "vouchers meal, hotel, empty –",
		`verified`:      "verified",
		`"in quotes"`:   "in quotes",
		" plain\ntext ": "plain text",
	} {
		require.Equal(t, want, formatResult(result, &phrases[0]), result)
	}
}

func TestDetectsErrors(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"error":"HttpError","message":"the tool answered 500"}`: "HttpError: the tool answered 500",
		`{"error":{"message":"no such order"}}`:                   "no such order",
		`{"status":"failed","reason":"too late"}`:                 "too late",
		`Error: connection refused`:                               "connection refused",
		`The call failed: the answer took too long.`:              "the answer took too long.",
		`{"status":"success"}`:                                    "",
		`Your payment has not failed.`:                            "",
	} {
		require.Equal(t, want, errorIn(result), result)
	}
}
