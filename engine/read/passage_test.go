package read

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestQuotesAreFoundInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	found := NewPassage("我已经为您预约了星期一。", false).Find(NewQuote("预约了", false))
	require.Equal(t, "预约了", found)
	found = NewPassage("จองแล้ววันจันทร์", false).Find(NewQuote("วันจันทร์", false))
	require.Equal(t, "วันจันทร์", found)
	found = NewPassage("मैंने सोमवार को", false).Find(NewQuote("सोम", false))
	require.Empty(t, found)
	require.Equal(t, "لا يمكن بعد 14 يوماً", Cite("لا يمكن بعد 14 يوماً.", "لا يمكن بعد ١٤ يوماً"))
	require.Empty(t, Cite("لا يمكن بعد 14 يوماً.", "لا يمكن بعد ١٥ يوماً"))
}

func TestCaseIsFoldedInAllLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"Iğdır şubesi", "IĞDIR"}, {"Iğdır şubesi", "ığdır"}, {"IĞDIR", "iğdır"}, {"açık", "AÇIK"}, {"İZMİR", "izmir"},
		{"i\u0307zmi\u0307r", "İzmir"}, {"I\u0307zmir", "izmir"}, {"der Fußgänger", "FUSSGÄNGER"},
		{"FUẞGÄNGER", "Fussgänger"}, {"ΣΊΣΥΦΟΣ", "Σίσυφος"}, {"1 ½ Maß", "MASS"},
	} {
		require.NotEmpty(t, Find(c[0], c[1]), "%q in %q", c[1], c[0])
	}
	require.Equal(t, "Fußgänger", Find("der Fußgänger.", "FUSSGÄNGER"))
	require.Empty(t, Find("der Fußgänger", "Fus"))
	require.Empty(t, Cite("HAYIR park var", "park"), "the word before denies it")
	require.Empty(t, Cite("Wir haben offen außer montags ab zehn Uhr", "Wir haben offen ... ab zehn Uhr"),
		"the words left out are a condition")
}

// Turkish writes suffixes of names after an apostrophe.
func TestNamesAreFoundBeforeTheirSuffix(t *testing.T) {
	t.Parallel()
	for text, quote := range map[string]string{
		"İSTANBUL'da açık": "İSTANBUL", "Merhaba, İstanbul’dakiler": "istanbul", "Iğdır'a gel": "IĞDIR", "Van'ı": "van",
	} {
		require.NotEmpty(t, Find(text, quote), text)
	}
	for text, quote := range map[string]string{
		"You can't": "can", "CAN'T": "can", "She'll": "she", "We're open": "we", "You've": "you",
		"Anna's brother": "Anna", "сім'я": "сім", "un'altra": "un", "aujourd'hui": "aujourd",
		"İstanbul'da": "ist",
	} {
		require.Empty(t, Find(text, quote), text)
	}
	require.Equal(t, "agent", Find("l'agent", "agent"))
}

// wordsOf returns the words of a text by a second method. Quotes are compared by words.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(norm.NFKC.String(text)), func(r rune) bool { return !isWord(r) })
}

func TestFoundQuotesOccurInTheText(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"Monday", "it", "ÉTÉ", "ﬁne", "24", "no", "書く"})
	between := rapid.SampledFrom([]string{" ", "\n", "  ", "\u00a0", ", ", ". ", " (", ") ", " “", "” ", " – ", " **",
		"** ", "! ", "\n> "})
	texts := rapid.Custom(func(t *rapid.T) []string {
		pieces := []string{words.Draw(t, "word")}
		for range rapid.IntRange(0, 8).Draw(t, "length") {
			pieces = append(pieces, between.Draw(t, "between"), words.Draw(t, "word"))
		}
		return pieces
	})
	t.Run("existing quotes are found", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text := texts.Draw(t, "text")
			from := rapid.IntRange(0, len(text)/2).Draw(t, "from") * 2
			quote := text[from : rapid.IntRange(from/2, len(text)/2).Draw(t, "to")*2+1]
			retyped := strings.Map(func(r rune) rune {
				switch {
				case r == '\n':
					return r // line breaks decide which characters are Markdown
				case isSpace(r):
					return rapid.SampledFrom([]rune(" \t\u00a0\u202f")).Draw(t, "space")
				case strings.ContainsRune(doubleMarks, r):
					return rapid.SampledFrom([]rune(doubleMarks)).Draw(t, "double")
				case strings.ContainsRune(dashes, r):
					return rapid.SampledFrom([]rune("—―–")).Draw(t, "dash")
				}
				return rapid.SampledFrom([]rune{r, unicode.ToLower(r)}).Draw(t, "case")
			}, strings.Join(quote, ""))
			found := NewPassage(strings.Join(text, ""), false).Find(NewQuote(retyped, false))
			if found == "" || !slices.Equal(wordsOf(found), wordsOf(retyped)) {
				t.Fatalf("%q in %q: found %q", retyped, strings.Join(text, ""), found)
			}
		})
	})
	t.Run("found quotes exist", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text, quote := strings.Join(texts.Draw(t, "text"), ""), strings.Join(texts.Draw(t, "quote"), "")
			found := NewPassage(text, false).Find(NewQuote(quote, false))
			switch {
			case found == "":
			case !strings.Contains(text, found):
				t.Fatalf("%q is not in %q", found, text)
			case !slices.Equal(wordsOf(found), wordsOf(quote)):
				t.Fatalf("%q was found for %q", found, quote)
			}
		})
	})
	t.Run("every text can be read", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text, quote := rapid.String().Draw(t, "text"), rapid.StringN(0, 6, -1).Draw(t, "quote")
			f := NewPassage(text, rapid.Bool().Draw(t, "loose"))
			require.Len(t, f.starts, len(f.Text))
			require.Len(t, f.ends, len(f.Text))
			if found := f.Find(NewQuote(quote, false)); !strings.Contains(text, found) {
				t.Fatalf("%q is not in %q", found, text)
			}
		})
	})
}
