package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyValue generates JSON values of at most the given depth.
func anyValue(depth int) *rapid.Generator[any] {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[ \t\n#:'"|>{}\[\],&*!%@a-z0-9.~\\-]{0,12}`),
		rapid.SampledFrom([]string{"", "~", "null", "true", "no", "1", "1e3", "0x1", "2026-03-01", "\n", "a\n", "a\n\n",
			" a\n b", "a \n", "\t", "- a", "a: b", "#", "\r\n", "<<"}),
	)
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64Range(-1<<50, 1<<50), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) any { return f }),
		rapid.Map(texts, func(s string) any { return s }),
	}
	if depth > 0 {
		scalars = append(scalars,
			rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 3), func(l []any) any { return list(l) }),
			rapid.Custom(func(t *rapid.T) any {
				o := object{}
				for _, name := range rapid.SliceOfNDistinct(texts, 0, 3, rapid.ID).Draw(t, "names") {
					o = append(o, member{name, anyValue(depth-1).Draw(t, "value")})
				}
				return o
			}),
		)
	}
	return rapid.OneOf(scalars...)
}

func TestVisibleCharactersAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"می\u200cخواهم: 東京\u3000支店", " 👨\u200d👩\u200d👧 ", "a: \u00a0b\u2003c"} {
		shown := difference{name: "name", desired: text}
		require.Equal(t, "'"+text+"'", shown.textOf(text, true))
		encoded, err := outputFile{"x.yaml", object{{"name", text}}}.encode()
		require.NoError(t, err)
		require.Contains(t, string(encoded), text)
		require.True(t, isReadAs(encoded, object{{"name", text}}))
		agent := &resource{kind: agent, raw: object{{"name", text}}}
		require.Equal(t, `agent "`+text+`"`, agent.String())
	}
	require.Equal(t, "a\ufffdb", lines("a\u202eb"))
	require.Equal(t, "a_b_c__", safeName("a\u202eb\u009bc/\x7f"))
}

func TestWritesAreReadBackUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := object{{"value", anyValue(3).Draw(t, "value")}}
		text, err := outputFile{"x.yaml", content}.encode()
		require.NoError(t, err)
		require.True(t, isReadAs(text, content), "%s", text)
	})
}
