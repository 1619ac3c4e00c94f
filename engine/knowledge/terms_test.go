package knowledge_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/knowledge"
)

func TestTermsAreTheSameForOneWordsForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language string
		forms    []string
	}{
		{"en", []string{"return", "Returns", "RETURNED", "returning"}},
		{"en-GB", []string{"delivery", "deliveries"}},
		{"en", []string{"café", "CAFE", "cafe\u0301s", "cafe's", "café’s"}},
		{"fr", []string{"remboursé", "rembourse", "remboursée", "remboursees", "REMBOURSER"}},
		{"fr-FR", []string{"l'article", "articles", "d’articles", "qu'articles"}},
		{"fr", []string{"généraux", "general", "générale"}},
		{"fr", []string{"qualité", "qualites"}},
		{"fr", []string{"œuvre", "oeuvres"}},
		{"de", []string{"Straße", "STRASSE"}},
		{"", []string{"ｆｕｌｌ", "full"}},
	} {
		want := slices.Collect(maps.Keys(knowledge.Terms(c.forms[0], c.language)))
		require.Len(t, want, 1)
		for _, form := range c.forms {
			require.Equal(t, want, slices.Collect(maps.Keys(knowledge.Terms(form, c.language))), form)
		}
	}
}

func TestTermsWeighWhatTellsTextsApart(t *testing.T) {
	t.Parallel()
	terms := knowledge.Terms("Can I get a refund for order A1234 with the express delivery?", "en")
	require.Less(t, terms["the"], 0.2)
	require.Less(t, terms["can"], 0.2)
	require.Less(t, terms["order"], terms["express"])
	require.Less(t, terms["express"], terms["a1234"])
	require.NotContains(t, terms, "?")

	terms = knowledge.Terms("Quels sont les délais pour être remboursé ?", "fr")
	for _, stop := range []string{"quels", "sont", "les", "pour", "etre"} {
		require.Less(t, terms[stop], 0.2, stop)
	}
	require.Greater(t, terms["rembours"], 1.0)
}

func TestTermsOfAnyText(t *testing.T) {
	t.Parallel()
	require.Empty(t, knowledge.Terms(" ?! … \x00\xff", "en"))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		language := rapid.SampledFrom([]string{"en", "fr", "fr-CA", "ja", ""}).Draw(t, "language")
		terms := knowledge.Terms(text, language)
		require.Equal(t, terms, knowledge.Terms(text, language))
		require.Equal(t, terms, knowledge.Terms(text+" — "+text, language), "saying it twice adds nothing")
		for term, weight := range terms {
			require.NotEmpty(t, term)
			require.Positive(t, weight)
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("Le client peut demander le remboursement de sa commande dans les trente jours. ", 25)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		knowledge.Terms(text, "fr")
	}
}
