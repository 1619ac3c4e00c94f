package offline

import "strings"

// maxEchoed is how many characters of the contact's message a reply repeats.
const maxEchoed = 120

// phrasebook is what the model says of itself in one language.
type phrasebook struct {
	greeting, offer, more, welcome string
	goodbye, goodbyeReason         string
	// found takes sentences of the instructions in the place of %, lost the contact's message.
	found, lost string
}

var phrases = map[language]phrasebook{
	english: {
		greeting:      "Hello!",
		offer:         "How can I help you?",
		more:          "Is there anything else you would like to know?",
		welcome:       "You are welcome. Is there anything else I can do for you?",
		goodbye:       "Thank you for contacting us. Goodbye!",
		goodbyeReason: "The contact said goodbye.",
		found:         "Here is what my instructions say about that: “%”",
		lost:          "I am the offline model: I follow fixed rules instead of a language model. I understood “%”, but find no answer to it in my instructions.",
	},
	french: {
		greeting:      "Bonjour !",
		offer:         "Comment puis-je vous aider ?",
		more:          "Souhaitez-vous savoir autre chose ?",
		welcome:       "Je vous en prie. Puis-je faire autre chose pour vous ?",
		goodbye:       "Merci de nous avoir contactés. Au revoir !",
		goodbyeReason: "Le contact a dit au revoir.",
		found:         "Voici ce que disent mes instructions à ce sujet : « % »",
		lost:          "Je suis le modèle hors ligne : je suis des règles fixes, sans modèle de langage. J’ai compris « % », mais je n’en trouve pas la réponse dans mes instructions.",
	},
}

// quote gives sentences of the instructions as what they are.
func (p phrasebook) quote(sentences []string) string {
	return strings.Replace(p.found, "%", strings.Join(sentences, " "), 1)
}

// unknown says what the model is and what it understood.
func (p phrasebook) unknown(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if letters := []rune(message); len(letters) > maxEchoed {
		message = strings.TrimSpace(string(letters[:maxEchoed])) + "…"
	}
	return strings.Replace(p.lost, "%", message, 1)
}
