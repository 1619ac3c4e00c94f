package offline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

const clinic = `# Role
You are the receptionist of the Lakeside clinic. Never give medical advice about opening wounds.

## Facts
- The clinic is open Monday to Friday, 8:00 to 18:30
- Appointments can be cancelled free of charge up to 24 hours before.
- Dr. Marchetti and her colleagues see children on Wednesdays.
- Parking is behind the building!
Things to remember:
1. Appointments last 20 minutes.`

const banque = `Vous êtes le conseiller cartes de la banque du Lac.
Une carte volée est bloquée immédiatement, de jour comme de nuit.
Une nouvelle carte arrive par la poste sous cinq jours ouvrables.
Les frais de remplacement sont de 20 francs.`

func user(text string) llm.Message      { return llm.Message{Role: llm.RoleUser, Text: text} }
func assistant(text string) llm.Message { return llm.Message{Role: llm.RoleAssistant, Text: text} }

func TestReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		system   string
		messages []llm.Message
		want     string
	}{
		"speaks first": {
			system: clinic,
			want:   "Hello! How can I help you?",
		},
		"speaks first in French": {
			system: banque,
			want:   "Bonjour ! Comment puis-je vous aider ?",
		},
		"greeting": {
			system: clinic, messages: []llm.Message{user("Good morning!")},
			want: "Hello! How can I help you?",
		},
		"greeting with fillers": {
			system: banque, messages: []llm.Message{user("Bonjour Madame")},
			want: "Bonjour ! Comment puis-je vous aider ?",
		},
		"greeting with a name": {
			system: clinic, messages: []llm.Message{user("Hi Robin")},
			want: "Hello! How can I help you?",
		},
		"the contact's language goes before the agent's": {
			system: clinic, messages: []llm.Message{user("Bonjour")},
			want: "Bonjour ! Comment puis-je vous aider ?",
		},
		"a message that does not tell takes the language before it": {
			system: clinic, messages: []llm.Message{user("Bonjour"), assistant("Bonjour !"), user("Xylophone")},
			want: "Je suis désolé, je ne sais pas quoi répondre à cela. Je suis le modèle hors ligne, qui suit des règles " +
				"fixes.",
		},
		"no language anywhere": {
			messages: []llm.Message{user("12345")},
			want:     "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"question that the instructions answer": {
			system: clinic, messages: []llm.Message{user("When are you open?")},
			want: "This is what I was told about that: “The clinic is open Monday to Friday, 8:00 to 18:30.” Is there " +
				"anything else you would like to know?",
		},
		"greeting and question": {
			system: clinic, messages: []llm.Message{user("Hello, where is your parking?")},
			want: "Hello! This is what I was told about that: “Parking is behind the building!” Is there anything else you " +
				"would like to know?",
		},
		"two sentences in the order of the instructions": {
			system: clinic, messages: []llm.Message{user("How many minutes before it do I have to cancel an appointment?")},
			want: "This is what I was told about that: “Appointments can be cancelled free of charge up to 24 hours before. " +
				"Appointments last 20 minutes.” Is there anything else you would like to know?",
		},
		"question without accents": {
			system: banque, messages: []llm.Message{user("on m'a VOLE ma carte")},
			want: "Voici ce qu’on m’a dit à ce sujet : « Une carte volée est bloquée immédiatement, de jour comme de nuit. » " +
				"Souhaitez-vous savoir autre chose ?",
		},
		"typographic apostrophe": {
			system: banque, messages: []llm.Message{user("J’aimerais connaître les frais")},
			want: "Voici ce qu’on m’a dit à ce sujet : « Les frais de remplacement sont de 20 francs. » Souhaitez-vous savoir " +
				"autre chose ?",
		},
		"thanks": {
			system: clinic, messages: []llm.Message{user("Thank you very much!")},
			want: "You are welcome. Is there anything else I can do for you?",
		},
		"thanks in French": {
			system: clinic, messages: []llm.Message{user("Merci beaucoup")},
			want: "Je vous en prie. Puis-je faire autre chose pour vous ?",
		},
		"question that the instructions do not answer": {
			system: clinic, messages: []llm.Message{user("Do you sell\n bicycles?")},
			want: "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"long message": {
			system: clinic, messages: []llm.Message{user(strings.Repeat("lorem ", 50))},
			want: "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"no words": {
			system: clinic, messages: []llm.Message{user("?!")},
			want: "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"how to behave is not told to the contact": {
			system: clinic, messages: []llm.Message{user("I have wounds")},
			want: "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"how to use a tool is not told to the contact": {
			system: "Look for free slots with find_free_slots first.", messages: []llm.Message{user("Which slots are free?")},
			want: "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		},
		"goodbye that asks something is a question": {
			system: clinic, messages: []llm.Message{user("Is that all I need for parking?")},
			want: "This is what I was told about that: “Parking is behind the building!” Is there anything else you would " +
				"like to know?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := llm.Collect(offline.New().Chat(t.Context(), llm.Request{
				System:   test.system,
				Messages: test.messages,
				Tools:    []llm.Tool{{Name: llm.EndConversation}},
			}))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(llm.Answer{Text: test.want, Finish: llm.FinishStop}, answer))
		})
	}
}

func TestGoodbyes(t *testing.T) {
	t.Parallel()
	const (
		english, englishReason = "Thank you for contacting us. Goodbye!", "The contact said goodbye."
		french, frenchReason   = "Merci de nous avoir contactés. Au revoir !", "Le contact a dit au revoir."
	)
	for message, want := range map[string][2]string{
		"bye":                               {english, englishReason},
		"Goodbye!":                          {english, englishReason},
		"No thank you, that's all.":         {english, englishReason},
		"That is all":                       {english, englishReason},
		"Great, have a nice day":            {english, englishReason},
		"Au revoir":                         {french, frenchReason},
		"merci, c'est tout":                 {french, frenchReason},
		"Non merci, ce sera tout":           {french, frenchReason},
		"Merci et bonne journée à vous !":   {french, frenchReason},
		"C’est tout, merci pour votre aide": {french, frenchReason},
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			req := llm.Request{System: clinic, Messages: []llm.Message{user("Hello"), assistant("Hello!"), user(message)}}

			answer, err := llm.Collect(offline.New().Chat(t.Context(), req))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(llm.Answer{Text: want[0], Finish: llm.FinishStop}, answer), "without the tool")

			req.Tools = []llm.Tool{{Name: "book"}, {Name: llm.EndConversation}}
			answer, err = llm.Collect(offline.New().Chat(t.Context(), req))
			require.NoError(t, err)
			require.Equal(t, want[0], answer.Text)
			require.Equal(t, llm.FinishToolCalls, answer.Finish)
			require.Len(t, answer.ToolCalls, 1)
			require.Equal(t, llm.EndConversation, answer.ToolCalls[0].Name)
			require.NotEmpty(t, answer.ToolCalls[0].ID)
			var arguments map[string]string
			require.NoError(t, json.Unmarshal([]byte(answer.ToolCalls[0].Arguments), &arguments))
			require.Empty(t, cmp.Diff(map[string]string{"reason": want[1]}, arguments))
		})
	}
}

func TestStreamsPiecesOfAFewWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said   string
		pieces []string
	}{
		"six words": {"Hello!", []string{"Hello! How can ", "I help you?"}},
		"the rest": {
			"When is the clinic open?",
			[]string{
				"This is what ", "I was told ", "about that: “The ", "clinic is open ", "Monday to Friday, ", "8:00 to 18:30.” ",
				"Is there anything ", "else you would ", "like to know?",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				require.Equal(t, test.pieces, streamed(t, offline.New(), test.said))
				require.Zero(t, time.Since(begun))
				require.Equal(t, test.pieces, streamed(t, offline.New().Paced(20*time.Millisecond), test.said))
				require.Equal(t, time.Duration(len(test.pieces)-1)*20*time.Millisecond, time.Since(begun))
			})
		})
	}
}

// streamed returns the pieces of the clinic's answer.
func streamed(t *testing.T, model llm.Model, said string) []string {
	t.Helper()
	var pieces []string
	for chunk, err := range model.Chat(t.Context(), llm.Request{System: clinic, Messages: []llm.Message{user(said)}}) {
		require.NoError(t, err)
		if chunk.Finish == "" {
			pieces = append(pieces, chunk.Text)
		}
	}
	return pieces
}

func TestPiecesOfAnyText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                      nil,
		"one":                   {"one"},
		"one two three":         {"one two three"},
		"one two three ":        {"one two three "},
		" one  two\nthree four": {" one  ", "two\nthree four"},
		"   ":                   {"   "},
		"    ":                  {"   ", " "},
		"à la porte d’à côté":   {"à la porte ", "d’à côté"},
	} {
		require.Equal(t, want, offline.Pieces(text), "%q", text)
		require.Equal(t, text, strings.Join(offline.Pieces(text), ""))
	}
}

func TestAPauseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answer, err := llm.Collect(offline.New().Paced(time.Hour).Chat(ctx, llm.Request{}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "Hello! How can ", answer.Text)
	})
}

func TestStopsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var text strings.Builder
	var last error
	for chunk, err := range offline.New().Chat(ctx, llm.Request{}) {
		text.WriteString(chunk.Text)
		last = err
		cancel()
	}
	require.Equal(t, "Hello! How can ", text.String())
	require.ErrorIs(t, last, context.Canceled)
}

func TestLeavingEarly(t *testing.T) {
	t.Parallel()
	for chunk, err := range offline.New().Chat(t.Context(), llm.Request{}) {
		require.NoError(t, err)
		require.Equal(t, "Hello! How can ", chunk.Text)
		break
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "offline", offline.New().Name())
}
