package evaluation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// The rules below recognize texts that no real contact would write, in English, French, German, Spanish, Italian and
// Portuguese. They reject only certain cases: a rejected contact is asked again, and a second rejection ends the run.
// All except speakerLabel and direction match folded texts.
var (
	// speakerLabel begins a line of a script with several speakers.
	speakerLabel = lazyregexp.New(`(?im)^[\s*_]*(?:\[` + speakerNames + `\]|` + speakerNames + `[\s*_]*:)`)

	// direction is a stage direction between asterisks, brackets or parentheses: a whole message, or an actor's action.
	direction = lazyregexp.New(`(?is)^\s*(?:\*[^*]+\*|\[[^\]]+\]|\([^)]*\pL[^)]*\))\s*$|` +
		`[*(\[]\s*(?:(?:the )?(?:caller|customer|contact|user) |il |elle |er |sie )?(?:` +
		`laugh|sigh|paus|smil|nod|chuckl|whisper|wait|hang(?:s|ing)? up|clear(?:s|ing)? (?:his|her|my|their)? ?throat|grin|shrug|frown|think(?:s|ing)\b|angr|annoyed|frustrated|` +
		`rit\b|rire|soupir|sourit|raccroche|hoche|lacht|lachend|seufz|lächel|nickt|legt auf|ríe|se ríe|suspir|sonríe|cuelga|ride\b|sospira|sorride|riattacca|ri\b|sorri|desliga` +
		`)[^*)\]]*[*)\]]`)

	// offer matches phrases of somebody who offers help.
	offer = anyOf(
		`how (?:can|may|could) i (?:help|assist|be of (?:help|service|assistance))(?: to)? ?(?:you)?(?: today| with .*)?\s*[?.!,]?$`,
		`how (?:can|may) i (?:help|assist) you\b(?: today)?[?.!,]`, `how may i be of`,
		`anything else (?:that )?i can (?:help|assist|do for) you`, `what can i (?:help|assist) you with`,
		`what can i do for you(?: today)?[?.!,]`,
		`i(?:'m| am) here to (?:help|assist)(?: you)?(?: today)?(?:[.!,]|$)`,
		`(?:happy|glad) to (?:assist|help) you(?: with (?:that|this|it))?[.!,]`,
		`(?:can|may) i (?:help|assist) you with anything`,
		`let me know if (?:you have any (?:other |further |more )?questions|there(?:'s| is) anything else i can)`,
		`thank you for (?:contacting|reaching out to) (?:us|our)\b`, `thank you for calling (?:us[.!,]|our)`,
		`(?:comment|en quoi) (?:puis-je|je peux) (?:vous|t')\s?(?:aider|être utile)`, `que puis-je faire pour (?:vous|toi)`,
		`puis-je vous aider`, `autre chose que je puisse faire`, `je suis là pour vous aider`,
		`n'hésitez pas (?:à me|si vous avez d'autres)`,
		`(?:wie|womit|wobei) (?:kann|darf) ich (?:ihnen|dir|euch)\b.*(?:helfen|dienen|sein)`,
		`was kann ich für (?:sie|dich|euch) tun`,
		`kann ich (?:ihnen|dir) sonst noch`,
		`(?:cómo|en qué) (?:puedo|podría) (?:ayudar|asistir|servir)(?:le|te|lo|la)`,
		`(?:algo más|otra cosa) en (?:lo|la) que pueda ayudar`,
		`(?:come|in (?:che )?cosa|in che modo) posso (?:aiutar|esser)(?:la|ti|le|vi)`,
		`posso aiutar(?:la|ti) (?:con|in) (?:altro|qualcos)`,
		`(?:como|em que) posso (?:te |lhe |o |a )?(?:ajudar|ajudá|ser útil)`,
		`posso (?:te |lhe )?ajudar (?:você )?(?:em|com) (?:mais|algo)`,
	)

	// confession matches phrases in which a model says that it is one. It excludes trades, such as "an AI engineer".
	confession = anyOf(
		`(?:as|i am|i'm|i'm just|i am just|i'm only|i am only|being) an? (?:`+machine+`)`+endOfName,
		`(?:as|i am|i'm) a simulated`,
		`(?:en tant que |en tant qu'|je suis |comme )(?:une? )?(?:`+machine+`)`+endOfName,
		`(?:als|ich bin)(?: nur)? (?:eine? )?(?:`+machine+`)`+endOfName,
		`(?:como|soy|sou|come|sono)(?: solo| só)? (?:(?:una?|uma?|um) |un')?(?:`+machine+`)`+endOfName,
		`this is (?:just |only )?a (?:simulation|role-?play)`, `(?:according to|as per) (?:the|my) scenario\b`,
		`the scenario (?:says|does|doesn't|states)`,
		`(?:stay|staying|remain|break|out of) (?:in )?character\b`,
		`i(?:'m| am) (?:only |just )?(?:playing|simulating) (?:the|a) (?:role|part|customer|caller|contact|person|user)`,
		`here(?:'s| is) (?:my|the) (?:response|reply|next message|message) (?:as|from) `,
		`as the (?:customer|caller|contact|user)[,:]`,
		`(?:dans|selon) (?:ce|le) scénario`, `laut (?:dem )?szenario`, `según el escenario`, `secondo lo scenario`,
		`segundo o cenário`,
	)
)

const (
	speakerNames = `(?:agent|assistant|contact|customer|caller|client|user|human|system|ai|bot|chatbot|` +
		`appelant|appelante|utilisateur|utilisatrice|cliente?|kunde|kundin|anrufer|anruferin|nutzer|benutzer|assistente?|asistente|agente|usuario|usuária?|usuário|utente)`
	machine = `ai|a\.i\.|artificial intelligence|(?:ai |large |ai-)?(?:language )?model|language model|llm|(?:ai|virtual|digital) (?:language model|assistant|agent|model|system)|chatbot|` +
		`ia|intelligence artificielle|modèle de langage|assistante? virtuel(?:le)?|ki|ki-(?:sprach)?modell|ki-assistent(?:in)?|künstliche intelligenz|sprachmodell|virtuelle[rn]? assistent(?:in)?|` +
		`inteligencia artificial|modelo de lenguaje|asistente virtual|intelligenza artificiale|modello linguistico|assistente virtuale?|inteligência artificial|modelo de linguagem`
	endOfName = `(?:\s*[,.;:!?(]|$| (?:and )?(?:i|don't|do not|can't|cannot)\b| (?:et )?je\b| (?:und )?ich\b| kann\b| habe\b| no\b| non\b| não\b| without\b| developed\b| trained\b| created\b)`

	// recital is the number of consecutive words of the scenario that count as reading it out. loop is the minimum
	// number of words for a message that counts as a repetition.
	recital = 8
	loop    = 4
)

func anyOf(expressions ...string) func() *regexp.Regexp {
	return lazyregexp.New(`(?s)(?:^|[^\pL])(?:` + strings.Join(expressions, "|") + `)`)
}

var (
	// scripted matches the parts of a scenario that the contact has to say verbatim.
	scripted = lazyregexp.New(
		`(?im)["“„«][^"“”„«»]+["”“»]|\b(?:says?|asks?|dit|dites|demandez?|sagt?|fragt?|dice|di|pregunta|chiede|diz|pergunta)\s?:.*$`)
	// addressed lists the words with which a scenario addresses the contact, or refers to it.
	addressed = []string{
		"you", "your", "you're", "caller", "customer", "contact", "user", "client", "vous", "votre", "vos", "tu", "ton", "ta",
		"du", "dein", "deine",
		"sie", "ihr", "ihre", "anrufer", "kunde", "usted", "tú", "eres", "cliente", "lei", "sei", "tuo", "tua", "você", "seu",
		"sua",
	}
)

// offRole returns how a message departs from the contact's role, or nil. Texts that the scenario prescribes verbatim
// are in its role.
func offRole(text, scenario string, messages []model.TestMessage) error {
	said := read.NewPassage(text, false).Text
	switch {
	case strings.Contains(strings.ToLower(text), llm.EndConversation):
		return unusablef("it writes %s as text, and that is a tool to call", llm.EndConversation)
	case said == "" || slices.ContainsFunc(scripted().FindAllString(scenario, -1),
		func(part string) bool { return strings.Contains(read.NewPassage(part, false).Text, said) }):
		return nil
	case speakerLabel().MatchString(text):
		return unusable("it names speakers, and only what the person says is wanted, without a name before it")
	case confession().MatchString(said):
		return unusable("it speaks of being a machine or of playing a part, and you are the person of the scenario")
	case offer().MatchString(said):
		return unusable("it offers help as the assistant would, and you are the person who wants something")
	case direction().MatchString(text):
		return unusable("it has a stage direction, and only what the person says is wanted")
	case recites(said, scenario):
		return unusable("it reads out the scenario, which is for you alone: say in the person's own words what is needed now")
	case isEcho(said, messages):
		return unusable("it repeats what the assistant said, and you are the person the assistant talks to")
	case isLoop(said, messages):
		return unusable("it says the same for the third time, though the assistant said something else: go on, or end the " +
			"conversation")
	}
	return nil
}

// recites reports whether a message repeats many words of the scenario in a row, including a word that addresses the
// contact. Contacts may state facts in the scenario's words.
func recites(said, scenario string) bool {
	words := strings.Fields(said)
	if len(words) < recital {
		return false
	}
	rest := " " + read.NewPassage(scripted().ReplaceAllString(scenario, " | "), false).Text + " "
	for from := range len(words) - recital + 1 {
		run := words[from : from+recital]
		isAddressed := slices.ContainsFunc(run,
			func(word string) bool { return slices.Contains(addressed, strings.Trim(word, ".,;:!?")) })
		if isAddressed && strings.Contains(rest, " "+strings.Join(run, " ")) {
			return true
		}
	}
	return false
}

func isEcho(said string, messages []model.TestMessage) bool {
	if len(messages) == 0 || len(strings.Fields(said)) < loop {
		return false
	}
	last := messages[len(messages)-1]
	return last.Role == model.MessageRoleAssistant && isSame(last.Text, said)
}

// isLoop reports whether a message repeats the contact's last two messages although the agent's answers to them
// differed.
func isLoop(said string, messages []model.TestMessage) bool {
	n := len(messages)
	if n < 4 || len(strings.Fields(said)) < loop {
		return false
	}
	isAgain := func(i int) bool { return messages[i].Role == model.MessageRoleUser && isSame(messages[i].Text, said) }
	return isAgain(n-2) && isAgain(n-4) && !isSame(messages[n-1].Text, messages[n-3].Text)
}

// isSame reports whether two texts are equal after folding.
func isSame(one, other string) bool {
	return read.NewQuote(one, false).Text == read.NewQuote(other, false).Text
}
