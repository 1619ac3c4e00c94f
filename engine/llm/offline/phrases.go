package offline

import (
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm/offline/read"
)

// maxMenu is how many tools a reply names of what the model can do.
const maxMenu = 4

// maxEchoed is how many characters of the contact's message a reply repeats.
const maxEchoed = 120

// phrasebook is what the model says of itself in one language. In phrases that have it, % stands for what they
// are said of, and @ for the title of a tool.
type phrasebook struct {
	language                             read.Language
	greeting, offer, more, welcome, good string
	// noted takes what the contact chose, toYes and toNo what it was asked, occasion why it was called.
	noted, toYes, toNo, occasion string
	goodbye, goodbyeReason       string
	optOut, optOutReason         string
	// found and known take sentences of the instructions and of the knowledge, lost the contact's message.
	found, known, lost, canDo string
	// asking and choosing ask for an argument, sure for a yes; unclear goes before a question that is asked again.
	asking, choosing, sure, unclear, goingOn, dropped, stuck string
	// done and broken tell of a result, with broken's advice after it.
	done, doneAlready, broken, advice, anythingElse string
	transfer, transferReason, transferred           string
	noTransfer, transferFailed                      string
	yesOrNo, exampleDay, exampleTime, listOf        string
}

var phrases = [...]phrasebook{
	read.English: {
		language:       read.English,
		greeting:       "Hello!",
		offer:          "How can I help you?",
		more:           "Is there anything else you would like to know?",
		welcome:        "You are welcome. Is there anything else I can do for you?",
		good:           "Good.",
		noted:          "Thank you, I have noted %.",
		toYes:          "Thank you, I have noted a yes to “%”",
		toNo:           "I see, I have noted a no to “%”",
		occasion:       "It is about this: %.",
		goodbye:        "Thank you for contacting us. Goodbye!",
		goodbyeReason:  "The contact said goodbye.",
		optOut:         "Understood, we will not write or call again. Goodbye!",
		optOutReason:   "The contact wants no more messages.",
		found:          "Here is what my instructions say about that: “%”",
		known:          "Here is what I find about that: “%”",
		lost:           "I am sorry, I have no good answer to “%”. I am the offline model, which follows fixed rules.",
		canDo:          "What I can do here: %.",
		asking:         "Please tell me for “@”: %.",
		choosing:       "Please tell me for “@” which one you choose.",
		sure:           "Shall I go ahead with “@”?",
		unclear:        "I did not find that in your message.",
		goingOn:        "Thank you.",
		dropped:        "All right, I leave it at that.",
		stuck:          "I cannot go on with “@” without that.",
		done:           "“@” is done: %",
		doneAlready:    "“@” is done already: %",
		broken:         "“@” did not work: %",
		advice:         "Shall I try again, or would you like to speak to a human?",
		anythingElse:   "Is there anything else I can do for you?",
		transfer:       "I am passing you to a human now.",
		transferReason: "The contact asks for a human: %",
		transferred:    "A human takes over now.",
		noTransfer:     "I cannot pass you to a human from here.",
		transferFailed: "I could not pass you to a human: %",
		yesOrNo:        "yes or no",
		exampleDay:     "a day such as 2027-03-04",
		exampleTime:    "a day and a time such as 2027-03-04 14:30",
		listOf:         "one or more of %",
	},
	read.French: {
		language:       read.French,
		greeting:       "Bonjour !",
		offer:          "Comment puis-je vous aider ?",
		more:           "Souhaitez-vous savoir autre chose ?",
		welcome:        "Je vous en prie. Puis-je faire autre chose pour vous ?",
		good:           "Bien.",
		noted:          "Merci, c’est noté : %.",
		toYes:          "Merci, j’ai noté oui à « % »",
		toNo:           "Bien, j’ai noté non à « % »",
		occasion:       "C’est à ce sujet : %.",
		goodbye:        "Merci de nous avoir contactés. Au revoir !",
		goodbyeReason:  "Le contact a dit au revoir.",
		optOut:         "C’est noté, nous ne vous contacterons plus. Au revoir !",
		optOutReason:   "Le contact ne veut plus de messages.",
		found:          "Voici ce que disent mes instructions à ce sujet : « % »",
		known:          "Voici ce que je trouve à ce sujet : « % »",
		lost:           "Je suis désolé, je n’ai pas de bonne réponse à « % ». Je suis le modèle hors ligne, qui suit des règles fixes.",
		canDo:          "Ce que je sais faire ici : %.",
		asking:         "Dites-moi, s’il vous plaît, pour « @ » : %.",
		choosing:       "Dites-moi, s’il vous plaît, pour « @ » votre choix.",
		sure:           "Dois-je lancer « @ » ?",
		unclear:        "Je n’ai pas trouvé cela dans votre message.",
		goingOn:        "Merci.",
		dropped:        "Très bien, j’en reste là.",
		stuck:          "Sans cela, je ne peux pas continuer « @ ».",
		done:           "« @ », c’est fait : %",
		doneAlready:    "« @ », c’est déjà fait : %",
		broken:         "« @ » n’a pas fonctionné : %",
		advice:         "Dois-je réessayer, ou souhaitez-vous parler à un conseiller ?",
		anythingElse:   "Puis-je faire autre chose pour vous ?",
		transfer:       "Je vous passe un conseiller.",
		transferReason: "Le contact demande un humain : %",
		transferred:    "Un conseiller prend le relais.",
		noTransfer:     "Je ne peux pas vous passer un conseiller d’ici.",
		transferFailed: "Je n’ai pas pu vous passer un conseiller : %",
		yesOrNo:        "oui ou non",
		exampleDay:     "un jour, par exemple 2027-03-04",
		exampleTime:    "un jour et une heure, par exemple 2027-03-04 14:30",
		listOf:         "au choix, un ou plusieurs : %",
	},
}

func fill(phrase, with string) string { return strings.Replace(phrase, "%", with, 1) }

func about(phrase string, t tool) string { return strings.Replace(phrase, "@", t.title, 1) }

// quote gives sentences as what they are.
func (p *phrasebook) quote(found quotation) string {
	phrase := p.found
	if found.isKnown {
		phrase = p.known
	}
	return found.cited(fill(phrase, strings.Join(found.sentences, " ")))
}

// unknown says what the model is and what it understood.
func (p *phrasebook) unknown(message string) string {
	return fill(p.lost, read.Shorten(message, maxEchoed))
}

// menu says what the tools can do, the first of them, sub-agents last; "" when there are none.
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

// ask asks for an argument of a tool.
func (p *phrasebook) ask(t tool, wanted property) string {
	return fill(about(p.asking, t), wanted.asked[p.language])
}

// which asks for an argument that is one of the options just told.
func (p *phrasebook) which(t tool) string { return about(p.choosing, t) }

// confirmation asks whether to go ahead with a tool.
func (p *phrasebook) confirmation(t tool) string { return about(p.sure, t) }

// label says what a property is, in the words of its description, and which values fit.
func (p *phrasebook) label(wanted property) string {
	text := strings.TrimSpace(toolReference.ReplaceAllString(read.FirstSentence(wanted.description), ""))
	if len(read.Content(read.Words(text))) < 2 && len(wanted.title) > 1 {
		text = strings.Join(wanted.title, " ")
	}
	hint := ""
	switch {
	case len(wanted.choices()) > 0:
		var choices []string
		for _, choice := range wanted.choices() {
			choices = append(choices, strings.Join(read.NameWords(choice), " "))
		}
		hint = strings.Join(choices, ", ")
		if wanted.kind == "array" {
			hint = fill(p.listOf, hint)
		}
	case wanted.kind == "boolean":
		hint = p.yesOrNo
	case wanted.format == "date":
		hint = p.exampleDay
	case wanted.format == "date-time":
		hint = p.exampleTime
	}
	if hint != "" {
		text += " (" + hint + ")"
	}
	return read.LowerFirst(text)
}

// asksYesOrNo reports whether a sub-agent's question is one to which no is an answer.
func asksYesOrNo(text string) bool {
	for i := range phrases {
		book := &phrases[i]
		lead, _, _ := strings.Cut(book.sure, "@")
		if strings.Contains(text, lead) || strings.Contains(text, "("+book.yesOrNo+")") {
			return true
		}
		if lead, _, _ = strings.Cut(book.asking, "@"); strings.Contains(text, lead) {
			return false
		}
	}
	return strings.HasSuffix(strings.TrimSpace(text), "?")
}

// asksSomething reports whether a text may hold a question about a tool.
func asksSomething(text string) bool {
	for i := range phrases {
		book := &phrases[i]
		for _, phrase := range []string{book.asking, book.choosing, book.sure} {
			if lead, _, _ := strings.Cut(phrase, "@"); strings.Contains(text, lead) {
				return true
			}
		}
	}
	return false
}

// lastQuestion is the question at the end of a sub-agent's answer, without what was said before it.
func lastQuestion(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	for i := range phrases {
		book := &phrases[i]
		for _, phrase := range []string{book.asking, book.choosing, book.sure} {
			lead, _, _ := strings.Cut(phrase, "@")
			if at := strings.Index(line, lead); at >= 0 {
				return line[at:]
			}
		}
	}
	return line
}

// asksBack reports whether a sub-agent's answer leaves a question open.
func asksBack(text string) bool {
	text = strings.TrimSpace(text)
	for i := range phrases {
		book := &phrases[i]
		for _, closing := range []string{book.more, book.welcome, book.anythingElse, book.offer} {
			if strings.HasSuffix(text, closing) {
				return false
			}
		}
		lead, _, _ := strings.Cut(book.asking, "@")
		if strings.Contains(text, lead) {
			return true
		}
	}
	return strings.HasSuffix(text, "?")
}
