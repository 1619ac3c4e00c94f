package read

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFold requires that folding each letter alone gives the same as folding the whole text.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"L’ŒUF « à Genève » – déjà…", "İstanbul ĲſŉǄ", "e\u0301", "\xff é", "ﬁn ΑΣ 각",
		"“So”, €5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, foldAny(text), Fold(text))
	})
}

// Each letter is folded in the same way, regardless of the letters next to it.
func TestLettersAreFoldedIndependently(t *testing.T) {
	t.Parallel()
	var letters []rune
	for r := range firstMark {
		letters = append(letters, r)
	}
	for r := rune(firstSign); r <= lastSign; r++ {
		letters = append(letters, r)
	}
	for _, one := range letters {
		var pairs strings.Builder
		for _, other := range letters {
			pairs.WriteRune(one)
			pairs.WriteRune(other)
		}
		require.Equal(t, foldAny(pairs.String()), Fold(pairs.String()))
	}
}
