package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

const (
	// maxMenu bounds the tools that a reply names as what the model can do.
	maxMenu = 4
	// maxChoices bounds the choices that a question names.
	maxChoices = 6
)

// phrasebook has the model's own phrases in one language. % is replaced by the subject of the phrase.
type phrasebook struct {
	language read.Language
	yes, no  string
	// The word or precedes the last of several choices.
	or string

	greeting, offer, anythingElse, goodbye, goodbyeReason string
	// offline introduces the model. lost answers a message that it does not understand, lostAgain a second one.
	offline, lost, lostAgain string
	// noted acknowledges a message. shall offers a tool.
	noted, shall string
	// canDo lists the tool names. canQuote replaces it if there are none.
	canDo, canQuote string
	// found and known introduce sentences of the instructions and of documents.
	found, known string
	// give asks for a property by its description. name, lastName and so on ask for common properties.
	give, name, lastName, firstName, birth, phone, mail, postcode, day, moment string
	// which asks for one of the listed options. recap repeats the arguments of a call, and sure asks for agreement to it.
	which, recap, sure string
	// unclear precedes a question that is asked again, with an example or choices.
	unclear, example, choices string
	// dropped ends a task that the contact refuses, stuck a task without progress, nothing a task without options.
	dropped, stuck, nothing string
	// passedOn confirms a delegation whose mock says nothing else.
	passedOn string
	// done and report introduce a result. broken reports a failure, and advice follows it.
	done, report, broken, advice          string
	transferred, transferFailed           string
	weekdays                              [7]string
	months                                [12]string
	exampleDay, exampleBirth, exampleTime string
}

var phrases = [...]phrasebook{
	read.English: {
		language: read.English, yes: "yes", no: "no", or: "or",
		greeting: "Hello!", offer: "What can I do for you?", anythingElse: "Is there anything else I can do for you?",
		goodbye: "Thank you for contacting us. Goodbye!", goodbyeReason: "The contact said goodbye.",
		offline:   "No language model is configured, so I answer only from this agent's instructions, documents and tools.",
		lost:      "I am sorry, I have no answer to that.",
		lostAgain: "I did not understand that either.",
		noted:     "Thank you, I have noted that.", shall: "I can do this for you: %. Shall I?",
		canDo:    "You can ask me for one of these: %.",
		canQuote: "You can ask me about what is in my instructions.",
		found:    "My instructions say: “%”",
		known:    "Here is what I find about that: “%”",
		give:     "Could you tell me this, please: %?",
		name:     "May I have your full name?", lastName: "What is your last name?", firstName: "What is your first name?",
		birth: "What is your date of birth?", phone: "On which number can we reach you?",
		mail: "What is your e-mail address?", postcode: "What is your postcode?",
		day: "Which day would suit you?", moment: "Which day and time would suit you?",
		which: "Which one would you like?", recap: "Let me read that back: %.", sure: "Shall I go ahead?",
		unclear: "Sorry, I did not quite get that.", example: "Something like “%” will do.", choices: "You can say %.",
		dropped: "All right, I leave it at that.", stuck: "Let us leave that for now.",
		nothing:  "I have looked, but I see nothing there that I could offer you.",
		passedOn: "I have passed your request on to “%”.",
		done:     "That is done.", report: "Here is what I have: %",
		broken: "I am sorry, that did not work: %", advice: "Shall I try again?",
		transferred:    "A colleague takes over now.",
		transferFailed: "I could not put you through: %",
		exampleDay:     "4 March", exampleBirth: "12 May 1988", exampleTime: "4 March at 14:30",
		weekdays: [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		months: [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
			"November", "December"},
	},
	read.French: {
		language: read.French, yes: "oui", no: "non", or: "ou",
		greeting: "Bonjour !", offer: "Que puis-je faire pour vous ?",
		anythingElse: "Puis-je faire autre chose pour vous ?",
		goodbye:      "Merci de nous avoir contactés. Au revoir !", goodbyeReason: "Le contact a dit au revoir.",
		offline: "Aucun modèle de langue n’est configuré : je réponds seulement à partir des instructions, des documents " +
			"et des outils de cet agent.",
		lost:      "Je suis désolé, je n’ai pas de réponse à cela.",
		lostAgain: "Cela non plus, je ne l’ai pas compris.",
		noted:     "Merci, c’est noté.", shall: "Je peux faire ceci pour vous : %. Dois-je le faire ?",
		canDo:    "Vous pouvez me demander ceci : %.",
		canQuote: "Vous pouvez me demander ce qui est dans mes instructions.",
		found:    "Voici ce qu’on m’a dit à ce sujet : « % »",
		known:    "Voici ce que je trouve à ce sujet : « % »",
		give:     "Pouvez-vous m’indiquer ceci : % ?",
		name:     "Quel est votre nom complet ?", lastName: "Quel est votre nom de famille ?",
		firstName: "Quel est votre prénom ?", birth: "Quelle est votre date de naissance ?",
		phone: "À quel numéro pouvons-nous vous joindre ?", mail: "Quelle est votre adresse e-mail ?",
		postcode: "Quel est votre code postal ?",
		day:      "Quel jour vous conviendrait ?", moment: "Quel jour et à quelle heure ?",
		which: "Que choisissez-vous ?", recap: "Je récapitule : %.", sure: "Est-ce que cela vous convient ?",
		unclear: "Pardon, je n’ai pas bien compris.", example: "Par exemple « % ».", choices: "Vous pouvez dire %.",
		dropped: "Très bien, j’en reste là.", stuck: "Laissons cela pour le moment.",
		nothing:  "J’ai cherché, mais je ne vois rien à vous proposer.",
		passedOn: "J’ai transmis votre demande à « % ».",
		done:     "C’est fait.", report: "Voici ce que j’ai trouvé : %",
		broken: "Je suis désolé, cela n’a pas fonctionné : %", advice: "Dois-je réessayer ?",
		transferred:    "Un collègue prend le relais.",
		transferFailed: "Je n’ai pas pu vous passer un collègue : %",
		exampleDay:     "4 mars", exampleBirth: "12 mai 1988", exampleTime: "4 mars à 14 h 30",
		weekdays: [...]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
		months: [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
			"novembre", "décembre"},
	},
}

// fill replaces the % of a phrase with a text.
func fill(phrase, text string) string { return strings.Replace(phrase, "%", text, 1) }

// phrase returns the question for a property. It is the title of the property's schema, if that is a question in this
// language. Otherwise it is the question for a common property, or one with the description or the name.
func (p *phrasebook) phrase(wanted slot.Property) string {
	spoken, isKnown := read.Detect(wanted.Question)
	switch {
	case wanted.Question != "" && (!isKnown || spoken == p.language):
		return wanted.Question
	case wanted.Holder == "last":
		return p.lastName
	case wanted.Holder == "first":
		return p.firstName
	case wanted.Holder == "full":
		return p.name
	case wanted.IsBirth:
		return p.birth
	case wanted.IsPhone && !wanted.IsMail:
		return p.phone
	case wanted.IsMail && !wanted.IsPhone:
		return p.mail
	case wanted.IsPostcode:
		return p.postcode
	case wanted.Format == "date":
		return p.day
	case wanted.Format == "date-time":
		return p.moment
	}
	label := read.LowerFirst(read.FirstSentence(wanted.Description))
	if label == "" || wanted.Language != p.language {
		label = strings.Join(wanted.Title, " ")
	}
	if choices := wanted.Choices(); len(choices) > 0 && len(choices) <= maxChoices {
		label += " (" + p.either(choices) + ")"
	}
	return fill(p.give, label)
}

func (p *phrasebook) either(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " " + p.or + " " + choices[last]
}

// help returns a sentence about the form of a valid answer, or "".
func (p *phrasebook) help(wanted slot.Property) string {
	if choices := wanted.Choices(); len(choices) > 0 {
		return fill(p.choices, p.either(choices))
	}
	like := wanted.Example
	switch {
	case like != "":
	case wanted.IsBirth:
		like = p.exampleBirth
	case wanted.Format == "date":
		like = p.exampleDay
	case wanted.Format == "date-time":
		like = p.exampleTime
	case wanted.Kind == "boolean":
		like = p.yes
	case wanted.IsPhone:
		like = "+44 7700 900114"
	case wanted.IsMail, wanted.Format == "email":
		like = "ana@example.com"
	}
	if like == "" {
		return ""
	}
	return fill(p.example, like)
}

// formatValue writes a value for the contact. Days and times are written as people say them.
func (p *phrasebook) formatValue(value any) string {
	switch value := value.(type) {
	case string:
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			return p.dayOf(day)
		}
		if moment, err := time.Parse(time.RFC3339, value); err == nil {
			return p.dayOf(moment) + ", " + moment.Format("15:04")
		}
		return strings.Join(strings.Fields(value), " ")
	case []any:
		var texts []string
		for _, one := range value {
			texts = append(texts, p.formatValue(one))
		}
		return p.either(slices.DeleteFunc(texts, func(text string) bool { return text == "" }))
	case bool:
		return map[bool]string{true: p.yes, false: p.no}[value]
	}
	raw, _ := json.Marshal(value) // an argument always marshals
	return formatResult(string(raw), p)
}

// dayOf writes a day for the contact: birthdays with the year, later days with the weekday.
func (p *phrasebook) dayOf(day time.Time) string {
	text := fmt.Sprintf("%d %s", day.Day(), p.months[day.Month()-1])
	if day.Year() >= firstScheduled {
		return p.weekdays[day.Weekday()] + " " + text
	}
	return text + " " + strconv.Itoa(day.Year())
}

// firstScheduled is the first year whose days are written with the weekday. Earlier days are birthdays.
const firstScheduled = 2024
