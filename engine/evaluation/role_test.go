package evaluation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const anasScenario = `You are Ana Silva, an AI engineer of 41 years who wants to move an appointment from Monday to Thursday afternoon. ` +
	`Your date of birth is 3 May 1985 and your customer number is 77 20 14. You grow impatient when you are asked the same thing twice. ` +
	`At the end you say: "Thank you for calling us back, and how can I help you to improve?"`

// stuck is a conversation in which Ana says the same thing twice, although the answers differ.
var stuck = []model.TestMessage{
	written(model.MessageRoleAssistant, "Good morning, this is the clinic."),
	written(model.MessageRoleUser, "I want to move my appointment to Thursday."),
	written(model.MessageRoleAssistant, "What is your customer number?"),
	written(model.MessageRoleUser, "I want to move my appointment to Thursday."),
	written(model.MessageRoleAssistant, "Which appointment is it?"),
}

func offRoleIn(text string) error { return roleViolation(text, anasScenario, stuck) }

func TestContactsOutOfRoleAreDetected(t *testing.T) {
	t.Parallel()
	messages := []string{
		// offers
		"How can I assist you today?", "Hello! How may I help you?",
		"Sure, I can do that. Is there anything else I can help you with?",
		"I'm here to help! What seems to be the problem?", "Thank you for contacting us. We will look into it.",
		"Bonjour, comment puis-je vous aider ?", "Bien sûr. Y a-t-il autre chose que je puisse faire pour vous ?",
		"Guten Tag! Wie kann ich Ihnen heute weiterhelfen?", "Was kann ich für Sie tun?",
		"¡Hola! ¿En qué puedo ayudarte hoy?",
		"Buongiorno, come posso aiutarla?", "Olá! Como posso ajudar você hoje?",
		// machines
		"As an AI language model, I don't have appointments.", "I'm just an AI, so I cannot answer that.",
		"As an AI, I have no date of birth.",
		"En tant qu'IA, je n'ai pas de rendez-vous.", "Je suis un modèle de langage et je ne peux pas me déplacer.",
		"Als KI habe ich kein Geburtsdatum.",
		"Como modelo de lenguaje, no tengo cumpleaños.", "Sono un'intelligenza artificiale, non ho appuntamenti.",
		// labels
		"Customer: I want to move my appointment.", "**User:** Thursday, please", "[Contact] Thursday would be good.",
		"Ana: Thursday, please.",
		"Thursday.\nAgent: It is moved.\nCaller: Thanks", "Cliente: el jueves, por favor",
		// stage directions
		"*sighs* I have told you already.", "(laughs) No, Thursday.", "[The caller hangs up]",
		"*waits for the agent to look it up*", "(soupire) Jeudi, alors.",
		"Yes. *pauses for a moment* Thursday.",
		// loops and echoes
		"I want to move my appointment to Thursday.", "Which appointment is it?",
		// the scenario, and texts about the role play
		"I am Ana Silva. You grow impatient when you are asked the same thing twice.",
		"You are Ana Silva, an AI engineer of 41 years who wants to move an appointment.",
		"According to the scenario my customer number is 77 20 14.",
		"Here is my next message as the customer: Thursday, please.",
	}
	require.Len(t, messages, 38)
	var missed []string
	for _, text := range messages {
		if offRoleIn(text) == nil {
			missed = append(missed, text)
		}
	}
	t.Logf("%d of %d noticed; not: %q", len(messages)-len(missed), len(messages), missed)
	require.LessOrEqual(t, len(missed), 1, "%q", missed)
}

func TestContactsInTheirRoleAreAccepted(t *testing.T) {
	t.Parallel()
	messages := []string{
		"I'm an AI engineer, and I work until three.", "As an AI researcher I know these systems.",
		"Are you an AI, or a person?", "I am talking to a chatbot, am I not?",
		"Can you help me to move an appointment?", "What can I do about it?", "How can I help you find my file?",
		"Thank you for your help!",
		"Je suis ingénieure en IA, je finis à quinze heures.", "Pouvez-vous m'aider ?",
		"Ich bin KI-Ingenieurin und kann erst nach drei.", "Soy agente de seguros, ¿me puede ayudar?",
		"I *really* need Thursday (the afternoon, if you can).", "My customer number: 77 20 14",
		"It's 3 May 1985 (a Friday).", "No.",
		"My date of birth is 3 May 1985 and my customer number is 77 20 14.",
		"I want to move my appointment from Monday to Thursday afternoon.",
		"Thank you for calling us back, and how can I help you to improve?",
		"The agent told me to call again: you had no slot on Monday.",
	}
	require.Len(t, messages, 20)
	var refused []string
	for _, text := range messages {
		if err := offRoleIn(text); err != nil {
			refused = append(refused, text+": "+err.Error())
		}
	}
	t.Logf("%d of %d refused: %q", len(refused), len(messages), refused)
	require.LessOrEqual(t, len(refused), 1, "%q", refused)
}

func TestOffersAndGesturesAreDetected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Kann ich sonst noch etwas für Sie tun?", "Gibt es noch etwas, womit ich Ihnen behilflich sein kann?",
		"Gerne helfe ich Ihnen weiter.", "Puis-je faire autre chose pour vous ?", "Bien sûr, je peux vous aider.",
		"¿Puedo hacer algo más por usted?", "¿Hay algo más en lo que le pueda ayudar?", "C'è altro che posso fare per lei?",
		"Kan ik verder nog iets voor u doen?", "Is er nog iets anders waarmee ik u kan helpen?",
		"Czy mogę jeszcze w czymś pomóc?", "Czy mogę coś jeszcze dla pana zrobić?", "Posso ajudar em mais alguma coisa?",
		"Há mais alguma coisa que eu possa fazer por si?", "Is there anything further I can do for you?",
		"(schaut ungeduldig auf die Uhr) Freitag.", "*räuspert sich* Freitag.", "(regarde son agenda) Vendredi.",
		"(mira el reloj con impaciencia) El viernes.", "(guarda l'orologio) Venerdì.", "(kijkt op de klok) Vrijdag.",
		"(wzdycha i patrzy na zegarek) Piątek.", "(olha para o relógio) Sexta.", "(glances at the clock) Friday.",
	} {
		require.Error(t, offRoleIn(text), text)
	}
	for _, text := range []string{
		"Können Sie sonst noch etwas für mich tun?", "Kann ich noch etwas mitbringen?",
		"(sieht nach Regen aus) Geht Freitag?",
		"(klopft im Motor) Geht Freitag?", "Pouvez-vous faire autre chose pour moi ?", "Avez-vous besoin d'autre chose ?",
		"(regarde mon dernier mail) Vendredi.", "¿Me puede ayudar con algo más?", "Mi madre necesita ayuda.",
		"¿Hay algo que pueda hacer por teléfono?", "¿Puedo hacer algo más mientras espero?",
		"(schaut bitte nach) Ich wohne auf dem Berg (Haus 3).", "(mira el correo) El viernes.", "C'è altro che devo portare?",
		"Mia madre ha bisogno di aiuto.", "Kan ik nog iets meenemen?", "Czy może mi pan jeszcze w czymś pomóc?",
		"Jak mogę pomóc mojemu psu?", "(stuka coś w silniku) Piątek.", "Pode ajudar-me em mais alguma coisa?",
		"Há alguma coisa que eu possa fazer por telefone?", "(I called yesterday too.) Friday works.",
	} {
		require.NoError(t, offRoleIn(text), text)
	}
}

func TestRepeatedRequestsGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	asked := []model.TestMessage{
		written(model.MessageRoleUser, "My customer number is 77 20 14."),
		written(model.MessageRoleAssistant, "What is your number?"),
		written(model.MessageRoleUser, "My customer number is 77 20 14."),
		written(model.MessageRoleAssistant, "What is your number?"),
	}
	require.NoError(t, roleViolation("My customer number is 77 20 14.", anasScenario, asked))
	asked[3].Text = "And your name?"
	require.Error(t, roleViolation("my customer number is 77 20 14", anasScenario, asked))
	require.NoError(t, roleViolation("Ana", anasScenario, asked))
}

func TestContactOutOfRoleIsASimulatorError(t *testing.T) {
	t.Parallel()
	r := rehearsal{contact: lines("Hello", "How can I assist you today?")}
	run := r.run()
	require.Error(t, r.tester().simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusError, run.Status)
	require.Equal(t, model.RunErrorCauseSimulator, run.Error.Cause)
	require.Contains(t, run.Error.Message, "it offers help as the assistant would")
	require.Len(t, r.contact.asked, 3, "it is asked once more")
	require.Empty(t, run.CriteriaResults)
}

func TestContactMayHangUpAfterTheWelcome(t *testing.T) {
	t.Parallel()
	welcome := "Welcome"
	r := rehearsal{agent: model.Agent{InboundWelcomeMessage: &welcome},
		contact: &player{lines: []line{leave("", "A wrong number.")}}}
	run := r.run()
	require.NoError(t, r.tester().simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
	require.Equal(t, "The contact ended the conversation: A wrong number.", *run.EndReason)
	require.Zero(t, run.TurnCount)
	require.Equal(t, []string{"assistant: Welcome"}, textsOf(run.Messages))
}

func TestContactThoughtsAreRemoved(t *testing.T) {
	t.Parallel()
	said, err := readContact(llm.Answer{Text: "<think>As an AI I have to play Ana.</think>\n\nThursday, please."})
	require.NoError(t, err)
	require.Equal(t, "Thursday, please.", said.text)
}

func TestLongTextsOutOfRoleAreDetected(t *testing.T) {
	t.Parallel()
	require.NoError(t, roleViolation(strings.Repeat("I want it on another day, ", 150),
		strings.Repeat("You want it on Monday. ", 2_000), stuck))
}
