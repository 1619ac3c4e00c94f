package knowledge_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/model"
)

func TestWordsAreFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The café, the CAFE\u0301!":                                              "the cafe",
		"l’article qu'il d’accord customer's don't":                              "article il accord customer don t",
		"Kadıköy’dedir İstanbul'un Ankara’dakiler Iğdır'dadır AB'nin Türkiye’ye": "kadıkoy istanbul ankara igdır ab turkiye",
		"l'école dell'arte dell’ala O'Neill's п'ять":                             "ecole dell arte ala o neill п ять",
		"œuvre Straße Ærø ｆｕｌｌ":                                                  "oeuvre strasse aero full",
		"sous-section A1234-B and/or foo_bar":                                    "sous section a1234 b and or foo bar",
		"12,50 or 12.50, v1.2.3; 1;2 100 000 1.5kg":                              "12.50 or v1 2 3 1 100 000 5kg",
		"ada@example.com https://example.com/a?b=c":                              "ada example com https a b c",
		"Wren™ V55 and Alder℠":                                                   "wren v55 and alder",
		"日本 ?! … \x00\xff":                                                       "日本",
		"東京タワーは333m。水? ที่นี่ a":                                                 "東京 京タ タワ ワー ーは 333m 水 ที ี่ ่น นี a",
	} {
		require.Equal(t, want, strings.Join(knowledge.Folded(knowledge.WordsOf(text)), " "), text)
	}
}

// tokensIn returns a function that makes tokens of a text. No chunk contains them.
func tokensIn(t *testing.T) func(text string) []db.Token {
	store := dbtest.New(t)
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	return func(text string) []db.Token {
		tokens, err := store.Tenant(company.ID).Tokens(t.Context(), []string{"none"}, model.UnknownLanguages,
			knowledge.WordsOf(text))
		require.NoError(t, err)
		return tokens
	}
}

func TestFormsOfAWordShareATerm(t *testing.T) {
	t.Parallel()
	tokens := tokensIn(t)
	for _, forms := range []string{
		"return Returns RETURNED returning", "delivery deliveries", "café CAFE cafés cafe's café’s CAFE\u0301",
		"remboursé rembourse remboursée remboursees REMBOURSER remboursements",
		"article l'article articles d’articles qu'articles",
		"généraux general générale", "qualité qualites", "œuvre oeuvres", "Straße STRASSE", "ｆｕｌｌ full",
		"employee EMPLOYÉES employees",
		"12,50 12.50",
	} {
		all := tokens(forms)
		for _, token := range all {
			require.False(t, token.IsStopWord)
			require.True(t, slices.ContainsFunc(token.Terms,
				func(term string) bool { return slices.Contains(all[0].Terms, term) }), "%s: %v", forms, all)
		}
		require.Len(t, knowledge.TokensOf(all, model.UnknownLanguages, 0), 1, forms)
	}
	require.Len(t, knowledge.TokensOf(tokens("return refund"), model.UnknownLanguages, 0), 2)
}

func TestStopWordsOfBothLanguages(t *testing.T) {
	t.Parallel()
	tokens := tokensIn(t)
	for _, token := range knowledge.TokensOf(tokens("What is the, Quels sont les pour être à été où le même l'on comment"),
		model.UnknownLanguages, 0) {
		require.InDelta(t, 0.1, token.Weight(), 0, token.Word)
	}
	for _, token := range knowledge.TokensOf(tokens("can refund order A1234 express délais remboursé"),
		model.UnknownLanguages, 0)[:6] {
		require.Greater(t, token.Weight(), 2.0, token.Word)
	}
}

// exponent matches words that the parser reads as the exponent of a number.
var exponent = lazyregexp.New(`[0-9]e[0-9]`)

func TestPostgresKeepsEachWordWhole(t *testing.T) {
	t.Parallel()
	tokens := tokensIn(t)
	letters := rapid.SampledFrom([]rune("abeéeœß 0123456789 .,-_/:'’@&+\\<>|!()日λж"))
	rapid.Check(t, func(r *rapid.T) {
		text := string(rapid.SliceOf(letters).Draw(r, "letters"))
		found := tokens(text)
		require.Len(t, found, len(knowledge.WordsOf(text)))
		for _, token := range found {
			if !exponent().MatchString(token.Word) {
				require.Contains(t, token.Terms, token.Word)
				require.LessOrEqual(t, len(token.Terms), 5, "the word, and its stems in both languages with and without accents")
			}
		}
	})
}

func TestWordsOfRandomTextAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		words := knowledge.WordsOf(text)
		// After a space, marks at the beginning of the text would belong to that space.
		require.Equal(t, words, knowledge.WordsOf(text+"\n"+text), "repeated text adds no words")
		for _, word := range words {
			require.NotEmpty(t, word.Folded)
			require.True(t, utf8.ValidString(word.Folded+word.Written))
			require.NotContains(t, word.Folded+word.Written, " ")
			require.NotEqual(t, word.Folded, word.Written)
		}
	})
}

// For comparison, BenchmarkWords also measures splitting the text at white space and nothing else.
func BenchmarkWords(b *testing.B) {
	text := strings.Repeat("Le client peut demander le remboursement de sa commande dans les trente jours. ", 25)
	b.Run("words", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			knowledge.WordsOf(text)
		}
	})
	b.Run("fields", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			strings.Fields(text)
		}
	})
}
