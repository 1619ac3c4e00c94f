package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

var at = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

func TestFieldsFillPromptAndWelcome(t *testing.T) {
	t.Parallel()
	outbound, inbound := "Hello {firstName}, {agency} here.", "Welcome!"
	agent := &model.Agent{
		Prompt: "Help {firstName} at {phoneNumber} about {topic}. Answer as {\"a\": 1}.", Direction: model.DirectionOutbound,
		OutboundWelcomeMessage: &outbound, InboundWelcomeMessage: &inbound,
		Fields: []model.AgentField{
			{Name: "firstName", IsMandatory: true}, {Name: "phoneNumber", IsMandatory: true, IsSystem: true},
			{Name: "contactEmail", IsSystem: true}, {Name: "city", IsMandatory: true}, {Name: "topic"},
		},
	}
	o, err := Begin(agent, "", content.Values{"firstName": "Ana", "city": "Lyon", "shoe": "38",
		"contactEmail": "ana@example.org"}, at)
	require.NoError(t, err)
	require.Equal(t, "Hello Ana, {agency} here.", *o.Welcome)
	require.Equal(t, content.Values{
		"firstName": "Ana", "city": "Lyon", "shoe": "38", "contactEmail": "ana@example.org", "phoneNumber": "+12025550143",
	}, o.Values)
	o.checkValues(agent, nil)
	require.Equal(t, []string{
		`the data bag has the value "shoe", which is not a field of the agent. The value is kept, but check its name`,
		"the prompt has the placeholder {topic}, which has no value and is left unchanged",
		"the welcome message has the placeholder {agency}, which has no value and is left unchanged",
	}, o.warnings)

	_, err = Begin(agent, "", content.Values{"firstName": " "}, at)
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
	require.Contains(t, known.Message, "firstName, city")
	require.Len(t, known.Fields, 2)
	require.Contains(t, known.Fields, "dataBag.city")

	agent.Direction = model.DirectionInbound
	o, err = Begin(agent, "", content.Values{"firstName": "Ana", "city": "Lyon"}, at)
	require.NoError(t, err)
	require.Equal(t, inbound, *o.Welcome)

	agent.InboundWelcomeMessage = nil
	o, err = Begin(agent, "", content.Values{"firstName": "Ana", "city": "Lyon"}, at)
	require.NoError(t, err)
	require.Nil(t, o.Welcome, "the contact begins")
}

func TestFictionalValuesFitTheirFields(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"phoneNumber": "+12025550143", "caller": "+12025550143", "EMAIL": "alex.example@example.com",
		"firstName": "Alex", "last_name": "Example", "fullName": "Alex Example", "campaign": "simulated campaign",
		"currentDate": "2026-03-01", "callTime": "09:30", "callerFirstName": "Alex", "candidateName": "Alex Example",
		"callerName": "Alex Example", "callerPhone": "+12025550143", "tel": "+12025550143",
		"callerBirthDate": "2026-03-01", "hotelCheckInTime": "09:30",
	} {
		require.Equal(t, want, fictional(field, at), field)
	}
}
