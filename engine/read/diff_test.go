package read

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentencesJoinToTheText(t *testing.T) {
	t.Parallel()
	const text = "  You are Robin. You answer e.g. the telephone!  Now.\n\n# Getting here \n" +
		"- Cars park free. Bus 14 stops.\n" +
		"1. Ask for a name.\n   2. Say “Hello.” Then wait.\n\n\nEnd"
	sentences := SplitSentences(text)
	joined, parts := "", []string{}
	for _, s := range sentences {
		require.Equal(t, len(joined), s.At)
		joined += s.Text
		parts = append(parts, strings.TrimSpace(s.Text))
	}
	require.Equal(t, text, joined)
	require.Equal(t, []string{"You are Robin.", "You answer e.g. the telephone!", "Now.", "# Getting here",
		"- Cars park free.", "Bus 14 stops.", "1. Ask for a name.", "2. Say “Hello.”", "Then wait.", "End"}, parts)
	require.Equal(t, "Getting here", sentences[5].Section)
	require.Empty(t, sentences[3].Section)
	require.True(t, sentences[4].BeginsLine)
	require.False(t, sentences[5].BeginsLine)
	for _, empty := range []string{"", " ", "\n\n", "a", "?", "- ", "# "} {
		joined = ""
		for _, s := range SplitSentences(empty) {
			joined += s.Text
		}
		require.Equal(t, empty, joined)
	}
}

func TestSentencesOfOtherScripts(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string][]string{
		"駐車場は裏です。九時に開店！本当？！「はい。」と答える。\n- 予約は不要。３．５階です。": {"駐車場は裏です。", "九時に開店！", "本当？！",
			"「はい。」と答える。", "- 予約は不要。", "３．５階です。"},
		"पार्किंग पीछे है। हम नौ बजे खुलते हैं।॥ क्या?": {"पार्किंग पीछे है।", "हम नौ बजे खुलते हैं।॥", "क्या?"},
		"أين الموقف؟ خلف المبنى. نفتح في ٩.٥ صباحا.":    {"أين الموقف؟", "خلف المبنى.", "نفتح في ٩.٥ صباحا."},
		"پارکنگ پیچھے ہے۔ہم نو بجے کھلتے ہیں۔":          {"پارکنگ پیچھے ہے۔", "ہم نو بجے کھلتے ہیں۔"},
	} {
		joined, parts := "", []string{}
		for _, s := range SplitSentences(text) {
			joined, parts = joined+s.Text, append(parts, strings.TrimSpace(s.Text))
		}
		require.Equal(t, text, joined)
		require.Equal(t, wanted, parts)
	}
}

func TestChangesAreSentences(t *testing.T) {
	t.Parallel()
	before := "You are Robin.\n\n# Getting here\n- Cars park free of charge behind the building for two hours.\n" +
		"- Bus 14 stops at the door.\n"
	after := "You are Robin, one of us.\n\n# Privacy\nTell nobody."
	changes := CompareSentences(before, after)
	shown := [][2]string{}
	text := func(s *Sentence) string {
		if s == nil {
			return ""
		}
		return strings.TrimSpace(s.Text)
	}
	for _, c := range changes {
		shown = append(shown, [2]string{text(c.Before), text(c.After)})
	}
	require.Equal(t, [][2]string{
		{"You are Robin.", "You are Robin, one of us."},
		{"# Getting here", ""},
		{"- Cars park free of charge behind the building for two hours.", ""},
		{"- Bus 14 stops at the door.", ""},
		{"", "# Privacy"}, {"", "Tell nobody."},
	}, shown)
	gone, come := CompareWords(before[:14], after[:25])
	require.Empty(t, gone)
	require.Equal(t, []Span{{13, 24}}, come)
	require.Empty(t, CompareSentences("A b.  C d.\n", "A b.\n\nC d."), "white space")
	long := strings.Repeat("Aa. ", 5_000)
	require.Len(t, CompareSentences(long, strings.Repeat("Bb. ", 5_000)), 10_000)
}
