package knowledge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

// A compound that no chunk contains is found by its parts. A word that no chunk contains is found by compounds that
// contain the word.
func TestRetrieveFindsCompounds(t *testing.T) {
	t.Parallel()
	const delivery, room, other = "Die Zeit bis zur Lieferung beträgt drei Tage", "Der Gruppenraum ist frei",
		"Eine Gruppe zahlt nichts"
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t),
		[]string{strings.Join([]string{german, delivery, room, other}, "\n")})
	for question, want := range map[string][]string{
		"Lieferungszeit": {delivery}, "Raum": {room}, "Gruppenzeit": {delivery, other},
		"Lieferungszeiten der Gruppenräume": {delivery, room},
		"Zeitlupe":                          {}, "xylophonbau": {},
	} {
		require.ElementsMatch(t, want, texts(l.ask(question)), question)
	}
	require.InDelta(t, 1.2*4/11, l.ask("Raum")[0].Score, 1e-9, "the share of the compound, at the beginning of a chunk")
}

// A word can be the last part of a compound that also begins with it.
func TestRetrieveFindsCompoundsThatRepeatAWord(t *testing.T) {
	t.Parallel()
	const house, caretaker = "Das Hausmeisterhaus ist alt", "Der Hausmeister kommt morgen"
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t),
		[]string{strings.Join([]string{german, house, caretaker}, "\n")})
	require.Equal(t, []string{house}, texts(l.ask("Haus")))
}

// The rest of a compound may be unknown if the word is long.
func TestRetrieveFindsLongPartsOfCompounds(t *testing.T) {
	t.Parallel()
	const liability, appointment, room = "Die Haftpflichtversicherung zahlt", "Ein Facharzttermin dauert lange",
		"Der Gruppenraum ist frei"
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t),
		[]string{strings.Join([]string{german, liability, appointment, room}, "\n")})
	for question, want := range map[string][]string{
		"Versicherung": {liability}, "Versicherungen": {liability}, "Termine": {appointment}, "Haftpflicht": {liability},
		"Zahnarzttermin": {}, "Raum": {}, "Alter": {},
	} {
		require.ElementsMatch(t, want, texts(l.ask(question)), question)
	}
	const insurance = "Eine Versicherung kostet wenig"
	l = newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{strings.Join([]string{german, insurance, room}, "\n")})
	for question, want := range map[string][]string{
		"Haftpflichtversicherung": {insurance}, "Haftpflichtversicherungen": {insurance}, "Zeitraum": {},
	} {
		require.ElementsMatch(t, want, texts(l.ask(question)), question)
	}
}

// A word that is longer than any compound has no typing errors, so that long words do not take seconds to compare.
func TestRetrieveComparesNoWordsLongerThanCompounds(t *testing.T) {
	t.Parallel()
	longest, tooLong := strings.Repeat("a", 60), strings.Repeat("b", 61)
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{longest + " und\n" + tooLong + " oder"})
	require.Len(t, l.ask(longest[1:]+"x"), 1)
	require.Empty(t, l.ask(tooLong[1:]+"x"))
	require.Len(t, l.ask(tooLong), 1)
}
