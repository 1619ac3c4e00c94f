package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Only somebody else speaks to a person by name, or tells what the person does.
func TestPeopleDoNotNameThemselvesLikeOthers(t *testing.T) {
	t.Parallel()
	const scenario = "You are Marcus Bell, 41. You want your money back. Booking reference QX7-81L."
	asked := []model.TestMessage{written(model.MessageRoleAssistant, "Skyline Travel, Orla speaking.")}
	for _, text := range []string{
		"Hi Marcus, the refund is on its way.", "Thank you for waiting, Mr Bell.", "Mr Bell, we have paid it back.",
		"Bonjour Monsieur Bell, un instant.", "Marcus shakes the phone and waits for an answer.",
		"I can play Marcus Bell for this.", "Let us end the role-play here.", "Die Simulation ist beendet.",
	} {
		require.Error(t, roleViolation(text, scenario, asked), text)
	}
	for _, text := range []string{
		"Hi Orla, Marcus Bell here.", "Good morning, Marcus Bell speaking, about my refund.", "Marcus Bell, QX7-81L",
		"Hello, this is Marcus.", "Mr Bell.", "Marcus.", "It is for Mr Bell, that is me.", "Where is it?\nThanks, Marcus",
		"Marcus Bell is my name, and I want my money back.", "Hello, Marcus Bell. I want my money back.",
		"Marcus with a c, Bell with two l, please write it down.", "In the worst case scenario I take the train.",
		"I have a simulation of the loan from you.", "Was my game of football booked, too? I play on Mondays.",
	} {
		require.NoError(t, roleViolation(text, scenario, asked), text)
	}
	asked[0].Text = "I have sent the simulation to you."
	require.NoError(t, roleViolation("The simulation has not arrived.", scenario, asked))
}
