package knowledge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

func TestRelevantChunksComeFirst(t *testing.T) {
	t.Parallel()
	fillers := make([]string, 400)
	for i := range fillers {
		fillers[i] = fmt.Sprintf("padding%d", i)
	}
	// By chance, the long chunk contains the most words of a long question.
	long := "kettle " + strings.Join(fillers[:300], " ")
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"refund of a pear\npears refund a pear\nany pear " +
		"comes with a bowl and a lid\n" + long + "\nkettle descaling with vinegar\nan orange"})

	l.chat.PromptSettings.SimilarityThreshold = 0.05

	t.Run("by frequency", func(t *testing.T) {
		require.Equal(t, "pears refund a pear", l.ask("refund pear")[0].Content)
	})
	t.Run("by length", func(t *testing.T) {
		require.Equal(t, "any pear comes with a bowl and a lid", l.ask("pear")[2].Content)
	})
	t.Run("of a long question", func(t *testing.T) {
		found := l.ask("My kettle needs descaling, is vinegar right? " + strings.Join(fillers[298:340], " "))
		require.Equal(t, "kettle descaling with vinegar", found[0].Content)
	})
	t.Run("a long question reaches the threshold", func(t *testing.T) {
		question := "orange"
		for i := range 200 {
			question += fmt.Sprintf(" unheard%d", i)
		}
		require.Equal(t, []string{"an orange"}, texts(l.ask(question)))
	})
}

func TestFrequentWordsCountForChunksWithAnother(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("delivery number%d", i), fmt.Sprintf("parcel number%d", i))
	}
	lines = append(lines, "parcel delivery", "a zebra")
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{strings.Join(lines, "\n")})
	l.chat.PromptSettings.SimilarityThreshold = 0
	l.base = l.base.Glancing(10)
	require.Equal(t, "parcel delivery", texts(l.ask("parcel delivery"))[0],
		"both words are in more chunks than the search visits")
	found := texts(l.ask("zebra delivery parcel"))
	require.Equal(t, []string{"a zebra", "parcel delivery"}, found[:2])
	require.Greater(t, len(found), 2, "chunks with one of the frequent words are found too")
}
