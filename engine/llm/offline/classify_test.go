package offline_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

func TestClassifier(t *testing.T) {
	t.Parallel()
	const tags = `[
		{"name":"AppointmentBooked","definition":"The contact booked an appointment."},
		{"name":"appointment_cancelled","definition":"The contact cancelled an appointment."},
		{"name":"Voicemail","definition":"Nobody answered; a machine did."},
		{"name":"Réclamation","definition":"Une plainte sur une facture."},
		{"name":"Re\u0301serve\u0301","definition":""}]`
	for name, test := range map[string]struct {
		texts []string
		want  string
	}{
		"a word of a name":               {[]string{"I am sorry, this is a voicemail"}, "Voicemail"},
		"other forms of the word":        {[]string{"I would like to cancel my appointments", "Done."}, "appointment_cancelled"},
		"both sides count":               {[]string{"Hello", "Your appointment is booked"}, "AppointmentBooked"},
		"two words of a definition":      {[]string{"J'ai une plainte", "Quelle facture ?"}, "Réclamation"},
		"without accents":                {[]string{"reclamation!"}, "Réclamation"},
		"accents of their own":           {[]string{"C'est réservé"}, "Re\u0301serve\u0301"},
		"one word is not enough":         {[]string{"The machine is broken"}, ""},
		"two tags that fit equally well": {[]string{"The appointment was booked, and then cancelled"}, ""},
		"nothing":                        {[]string{"Hello", "Good morning"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conversation []map[string]string
			for _, text := range test.texts {
				conversation = append(conversation, map[string]string{"text": text})
			}
			asked, err := json.Marshal(map[string]any{"tags": json.RawMessage(tags), "conversation": conversation})
			require.NoError(t, err)
			answer, err := llm.Collect(offline.Classifier().
				Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: string(asked)}}}))
			require.NoError(t, err)
			var got struct {
				Rationale string
				Tag       *string
			}
			require.NoError(t, json.Unmarshal([]byte(answer.Text), &got))
			require.NotEmpty(t, got.Rationale)
			if test.want == "" {
				require.Nil(t, got.Tag, got.Rationale)
				return
			}
			require.NotNil(t, got.Tag, got.Rationale)
			require.Equal(t, test.want, *got.Tag)
		})
	}
}
