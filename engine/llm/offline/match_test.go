package offline

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/read"
)

// scripted is a script with examples for the messages of tests.
const scripted = `User: where is my parcel | track my parcel | has it been sent
Agent: It is on its way.

User: leave it in the shed | put it in the garden shed | by the back door
Call: set_place
Agent: Done.

User: i do not want it any more | cancel it
Agent: It is cancelled.

Urgent: she cannot breathe | somebody collapsed at the door
Agent: Call 999.`

func lexiconOf(text string) (*lexicon, []*exchange) {
	exchanges, _ := readScript(text, false)
	return newLexicon(exchanges), exchanges
}

func TestTheNearestExampleIsFound(t *testing.T) {
	t.Parallel()
	words, exchanges := lexiconOf(scripted)
	for said, want := range map[string]string{
		"where is my parcel":                   "where is my parcel",
		"Hi, wheres my parcle please":          "where is my parcel", // a misspelling
		"has my package been sent yet?":        "where is my parcel", // a synonym
		"the garden shed would be best for us": "leave it in the shed",
		"someone has collapsed":                "she cannot breathe",
	} {
		found := words.nearest(exchanges, words.parts(said))
		require.NotNil(t, found.exchange, said)
		require.Equal(t, want, found.variants[0].text, said)
		require.GreaterOrEqual(t, found.score, likelyScore, said)
	}
	require.Less(t, words.nearest(exchanges, words.parts("do you sell bicycles")).score, likelyScore)
	small, _ := readScript(smallTalk, true)
	talk := filter(small, func(e *exchange) bool { return e.language == read.English })
	words = newLexicon(talk)
	require.Less(t, words.nearest(talk, words.parts("three hundred")).score, nearScore, "it is not a threat")
}

func TestWordsThatOneExampleHasDecide(t *testing.T) {
	t.Parallel()
	words, exchanges := lexiconOf(scripted)
	probability := func(said string, e *exchange) float64 { return words.parts(said)[0].probability(e) }
	require.Greater(t, probability("shed", exchanges[1]), probability("door", exchanges[1]), "two examples share door")
	require.Greater(t, probability("door", exchanges[1]), probability("door", exchanges[0]))
	require.Less(t, probability("bicycle", exchanges[0]), 0.2, "an unknown word is no evidence")
}

func TestDenialsAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"i do not want it any more": true, "je n'ai plus le carton": true, "i don't know this": true, "je ne veux pas": true, "where is my parcel": false,
	} {
		require.Equal(t, want, isDenial(text), text)
	}
}

// Each variant of an example is found by the other variants of the same example.
func TestParaphrasesOfTheDemoAreFound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../cmd/agentgraph/demo/merrowby/examples/delivery_sms.txt")
	require.NoError(t, err)
	var all, right int
	const every = 6
	examples, _ := readScript(string(text), false)
	for number, left := range examples {
		if left.language != read.English || len(left.variants) < 2*every {
			continue
		}
		for i := 0; i < len(left.variants); i += every {
			exchanges, _ := readScript(string(text), false)
			hidden := exchanges[number]
			said := hidden.variants[i].text
			hidden.variants = slices.Delete(hidden.variants, i, i+1)
			words := newLexicon(filter(exchanges, func(e *exchange) bool { return e.language == read.English }))
			all++
			if words.nearest(exchanges, words.parts(said)).exchange == hidden {
				right++
			}
		}
	}
	t.Logf("%d of %d", right, all)
	require.Greater(t, all, 30)
	require.Greater(t, float64(right)/float64(all), 0.42)
}
