package offline

import (
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// maxMenu bounds the tools that a reply names as what the model can do.
const maxMenu = 4

// maxEchoed bounds how much of the contact's message a reply repeats, in characters.
const maxEchoed = 120

// phrasebook is what the model says of itself in one language. % in a phrase stands for what it is about.
type phrasebook struct {
	language read.Language
	// mark ends a question, and or precedes the last of several choices.
	mark, or string

	greeting, offer, more, welcome, good, anythingElse string
	goodbye, goodbyeReason, optOut, optOutReason       string
	// noted takes the contact's choice, and occasion why the agent got in touch. toYes and toNo answer a yes and a no.
	noted, toYes, toNo, occasion string
	// found and known take sentences of the instructions and of the knowledge, and canDo the names of tools.
	found, known, lost, canDo string

	// gladly precedes the first question of a matter, and goingOn later ones, in turn.
	gladly  string
	goingOn [3]string
	// tell asks for a description in the phrasebook's language, and give for one in any language.
	tell, give string
	// name, lastName and so on ask for what everybody has.
	name, lastName, firstName, birth, phone, mail, postcode string
	// which asks for one of the options just told. sure asks for a yes after recap.
	which, recap, sure string
	// oneOf follows options that the contact only asked to know.
	oneOf string
	// day and moment ask for a day and a time if the schema has no question in this language.
	day, moment string
	// unclear precedes a question that is asked again, with choices or an example.
	unclear, choices, example string
	// between takes the bounds of a number.
	between string
	// exampleDay and so on are examples of answers.
	exampleDay, exampleBirth, exampleTime, exampleYes string
	// dropped ends an unwanted matter, stuck one that makes no progress, and nothing one without options.
	dropped, stuck, nothing string
	// callBack and putThrough are offered instead.
	callBack, putThrough string

	// done and told introduce a result, already precedes one that is not new, and broken takes a failure, followed by
	// advice.
	done, told, already, broken, advice string
	transfer, transferReason            string
	transferred, noTransfer             string
	transferFailed                      string

	months [12]string
}

var phrases = [...]phrasebook{
	read.English: {
		language:       read.English,
		mark:           "?",
		or:             "or",
		greeting:       "Hello!",
		offer:          "How can I help you?",
		more:           "Is there anything else you would like to know?",
		welcome:        "You are welcome. Is there anything else I can do for you?",
		good:           "Good.",
		anythingElse:   "Is there anything else I can do for you?",
		goodbye:        "Thank you for contacting us. Goodbye!",
		goodbyeReason:  "The contact said goodbye.",
		optOut:         "Understood, we will not write or call again. Goodbye!",
		optOutReason:   "The contact wants no more messages.",
		noted:          "All right: %.",
		toYes:          "Thank you.",
		toNo:           "I see.",
		occasion:       "I am getting in touch because %.",
		found:          "This is what I was told about that: “%”",
		known:          "Here is what I find about that: “%”",
		lost:           "I am sorry, I do not know what to say to that. I am the offline model, which follows fixed rules.",
		canDo:          "What I can do here: %.",
		gladly:         "I can help with that.",
		goingOn:        [...]string{"Thank you.", "Got it.", "All right."},
		tell:           "Could you tell me %?",
		give:           "Could you tell me this: %?",
		name:           "What is your full name?",
		lastName:       "What is your last name?",
		firstName:      "What is your first name?",
		birth:          "What is your date of birth?",
		phone:          "On which number can we reach you?",
		mail:           "What is your e-mail address?",
		postcode:       "What is your postcode?",
		which:          "Which one would you like?",
		oneOf:          "Shall I go on with one of these?",
		day:            "Which day would suit you?",
		moment:         "When would it suit you?",
		recap:          "Let me read that back: %.",
		sure:           "Shall I go ahead?",
		unclear:        "Sorry, I did not quite get that.",
		choices:        "You can say %.",
		example:        "Something like “%” will do.",
		between:        "Anything from %g to %g will do.",
		exampleDay:     "4 March",
		exampleBirth:   "12 May 1988",
		exampleTime:    "4 March at 14:30",
		exampleYes:     "yes",
		dropped:        "All right, I leave it at that.",
		stuck:          "Never mind, let us leave that for now.",
		nothing:        "I have looked, but I see nothing there that I could offer you.",
		callBack:       "Shall I have a colleague call you back?",
		putThrough:     "Shall I put you through to a colleague?",
		done:           "That is done.",
		told:           "Here is what I have: %",
		already:        "I did that before.",
		broken:         "I am sorry, that did not work: %",
		advice:         "Shall I try again, or would you rather speak to a colleague?",
		transfer:       "I am putting you through to a colleague now.",
		transferReason: "The contact asks for a human: %",
		transferred:    "A colleague takes over now.",
		noTransfer:     "I cannot put you through to anybody from here.",
		transferFailed: "I could not put you through: %",
		months: [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
			"November", "December"},
	},
	read.French: {
		language:      read.French,
		mark:          " ?",
		or:            "ou",
		greeting:      "Bonjour !",
		offer:         "Comment puis-je vous aider ?",
		more:          "Souhaitez-vous savoir autre chose ?",
		welcome:       "Je vous en prie. Puis-je faire autre chose pour vous ?",
		good:          "Bien.",
		anythingElse:  "Puis-je faire autre chose pour vous ?",
		goodbye:       "Merci de nous avoir contactés. Au revoir !",
		goodbyeReason: "Le contact a dit au revoir.",
		optOut:        "C’est noté, nous ne vous contacterons plus. Au revoir !",
		optOutReason:  "Le contact ne veut plus de messages.",
		noted:         "Entendu : %.",
		toYes:         "Merci.",
		toNo:          "Je comprends.",
		occasion:      "Je vous contacte parce que %.",
		found:         "Voici ce qu’on m’a dit à ce sujet : « % »",
		known:         "Voici ce que je trouve à ce sujet : « % »",
		lost: "Je suis désolé, je ne sais pas quoi répondre à cela. Je suis le modèle hors ligne, qui suit des " +
			"règles fixes.",
		canDo:          "Ce que je sais faire ici : %.",
		gladly:         "Je m’en occupe.",
		goingOn:        [...]string{"Merci.", "C’est noté.", "Très bien."},
		tell:           "Pouvez-vous me dire % ?",
		give:           "Pouvez-vous m’indiquer ceci : % ?",
		name:           "Quel est votre nom complet ?",
		lastName:       "Quel est votre nom de famille ?",
		firstName:      "Quel est votre prénom ?",
		birth:          "Quelle est votre date de naissance ?",
		phone:          "À quel numéro peut-on vous joindre ?",
		mail:           "Quelle est votre adresse e-mail ?",
		postcode:       "Quel est votre code postal ?",
		which:          "Que choisissez-vous ?",
		oneOf:          "Dois-je continuer avec l’un de ces choix ?",
		day:            "Quel jour vous conviendrait ?",
		moment:         "Quand cela vous conviendrait-il ?",
		recap:          "Je récapitule : %.",
		sure:           "Est-ce que cela vous convient ?",
		unclear:        "Excusez-moi, je n’ai pas bien compris.",
		choices:        "Vous pouvez dire %.",
		example:        "Par exemple : « % ».",
		between:        "De %g à %g, tout convient.",
		exampleDay:     "4 mars",
		exampleBirth:   "12 mai 1988",
		exampleTime:    "4 mars à 14h30",
		exampleYes:     "oui",
		dropped:        "Très bien, j’en reste là.",
		stuck:          "Ce n’est pas grave, laissons cela pour l’instant.",
		nothing:        "J’ai cherché, mais je ne vois rien que je puisse vous proposer.",
		callBack:       "Voulez-vous qu’un conseiller vous rappelle ?",
		putThrough:     "Voulez-vous que je vous passe un conseiller ?",
		done:           "C’est fait.",
		told:           "Voici ce que j’ai trouvé : %",
		already:        "C’est déjà fait.",
		broken:         "Je suis désolé, cela n’a pas fonctionné : %",
		advice:         "Dois-je réessayer, ou préférez-vous parler à un conseiller ?",
		transfer:       "Je vous passe un conseiller.",
		transferReason: "Le contact demande un humain : %",
		transferred:    "Un conseiller prend le relais.",
		noTransfer:     "Je ne peux pas vous passer un conseiller d’ici.",
		transferFailed: "Je n’ai pas pu vous passer un conseiller : %",
		months: [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
			"novembre", "décembre"},
	},
}

func fill(phrase, with string) string { return strings.Replace(phrase, "%", with, 1) }

func (p *phrasebook) quote(found quotation) string {
	phrase := p.found
	if found.isKnown {
		phrase = p.known
	}
	return found.cited(fill(phrase, strings.Join(found.sentences, " ")))
}

// menu says what the first tools can do, sub-agents last. It returns "" if there are none.
func (p *phrasebook) menu(tools []tool) string {
	var titles []string
	for _, delegates := range []bool{false, true} {
		for _, t := range tools {
			if t.delegate == delegates && len(titles) < maxMenu {
				titles = append(titles, t.title)
			}
		}
	}
	if len(titles) == 0 {
		return ""
	}
	return " " + fill(p.canDo, strings.Join(titles, ", "))
}

// asksBack reports whether a text of a sub-agent ends with a question of its own.
func asksBack(text string) bool {
	question, rest := read.LastQuestion(text)
	return question != "" && rest == "" && !isClosing(question)
}

// asksYesOrNo reports whether a text ends with a question that can be answered with no.
func asksYesOrNo(text string) bool {
	question, _ := read.LastQuestion(text)
	return question != "" && !openQuestion().MatchString(question)
}

// lastQuestion returns the question at the end of a sub-agent's answer, or the whole answer if it asks nothing.
func lastQuestion(text string) string {
	if question, _ := read.LastQuestion(text); question != "" {
		return question
	}
	return text
}
