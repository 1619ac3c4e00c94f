package offline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

func TestMemoryIsBoundedAndForgetsTheOldest(t *testing.T) {
	t.Parallel()
	m := newMemory()
	text := strings.Repeat("x", 1<<20)
	reads := 0
	recallText := func(i int) int {
		return recall(m, "text", func() int { reads++; return i }, text, fmt.Sprint(i))
	}
	for i := range 100 {
		require.Equal(t, i, recallText(i))
	}
	require.Equal(t, 100, reads)
	require.Equal(t, 99, recallText(99))
	require.Equal(t, 100, reads, "the newest is remembered")
	require.Equal(t, 0, recallText(0))
	require.Equal(t, 101, reads, "the oldest is not")
}

func TestMemoryDistinguishesTexts(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for i, of := range []struct {
		kind  kind
		texts []string
	}{{"a", []string{"bc", "d"}}, {"a", []string{"b", "cd"}}, {"a", []string{"bcd"}}, {"ab", []string{"cd"}},
		{"a", []string{"bc", "d", ""}}, {"a", nil}} {
		require.Equal(t, i, recall(m, of.kind, func() int { return i }, of.texts...))
	}
}

// What a model remembers of other conversations changes no answer, neither with the same agent and other contacts, nor
// if the instructions or the tools change.
func TestMemoryChangesNoAnswer(t *testing.T) {
	t.Parallel()
	const prompt = `You are the front desk of %s. You are speaking with %s. Today is 2 March 2026.

# Opening hours
We open at %d on weekdays. It is closed on Sundays.

# Safety
If there is smoke, leave the building and call 112. Say that help is on its way.

# Returns
It takes ten days to return a kettle. Use the tool find_order for an order's number.
`
	tools := func(description string) []llm.Tool {
		return []llm.Tool{{Name: "find_order", Description: description, Parameters: []byte(
			`{"type":"object","properties":{"number":{"type":"string","description":"The order's number."}},"required":["number"]}`)}}
	}
	remembering := New()
	for _, said := range []string{"When do you open?", "There is smoke here!", "How long does a return take?",
		"Where is my order?", "Find the parcel 12345"} {
		for i, name := range []string{"Kim Lee", "Ada Roe", "Kim Lee"} {
			for _, description := range []string{"Finds an order.", "Tracks a parcel."} {
				req := llm.Request{
					System: fmt.Sprintf(prompt, name, name, 8+i), Tools: tools(description),
					Messages: []llm.Message{{Role: llm.RoleUser, Text: said}},
				}
				told, err := llm.Collect(Model{}.Chat(t.Context(), req))
				require.NoError(t, err)
				for range 2 {
					again, err := llm.Collect(remembering.Chat(t.Context(), req))
					require.NoError(t, err)
					require.Equal(t, told, again, said)
				}
			}
		}
	}
}

// Cutting a text part by part gives the same as cutting it whole.
func TestPassagesOfPartsEqualThoseOfTheWhole(t *testing.T) {
	t.Parallel()
	text := "You are Kim. We sell tea.\n# Tea\nIt is green. It is hot!\n## Safety\nThese cups break.\n- If it rains: we " +
		"close.\n  # no heading\nThey are wet.\n#Hours\nThis is all."
	whole := cutSection(text, "", toModel())
	require.NotEmpty(t, whole.passages)
	require.Equal(t, whole.passages, Model{}.passagesOf(text, toModel()))
}
