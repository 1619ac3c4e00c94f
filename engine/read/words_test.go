package read

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordListsOfLanguagesAreDisjoint(t *testing.T) {
	t.Parallel()
	for word := range englishWords {
		require.False(t, frenchWords[word], "%q is in both lists", word)
		require.False(t, shared[word], "%q is a word of both languages and of English", word)
	}
	for word := range frenchWords {
		require.False(t, shared[word], "%q is a word of both languages and of French", word)
		require.Equal(t, Fold(word), word)
	}
}

func TestWordFormsMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		one, other string
		want       bool
	}{
		{"card", "cards", true},
		{"delivery", "deliveries", true},
		{"price", "pricing", true},
		{"cancel", "cancellation", true},
		{"rembourser", "remboursement", true},
		{"sms", "sms", true},
		{"bus", "business", false},
		{"internet", "international", false},
		{"bank", "band", false},
		{"shop", "ship", false},
	} {
		require.Equal(t, test.want, AreForms(test.one, test.other), "%s, %s", test.one, test.other)
		require.Equal(t, test.want, AreForms(test.other, test.one), "%s, %s", test.other, test.one)
	}
}

func TestFoldRemovesCaseAndAccents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"À bientôt":       "a bientot",
		"SŒUR":            "soeur",
		"e\u0301te\u0301": "ete",
	} {
		require.Equal(t, want, Fold(text))
	}
}
