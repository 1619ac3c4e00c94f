package evaluation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// The rules below recognize texts that no real contact would write. Most go by the shape of a text, in any language.
// They reject only texts that are certainly wrong, because a second rejection ends the run. After the first one, the
// contact is asked again. The review after the conversation finds the other wrong texts.
var (
	// artifact matches marks of a model's template.
	artifact = lazyregexp.New(`(?i)<\|.{0,60}\|>|\[/?inst\]|</?s>|</?(?:end|eos|bos|think|thinking|user|assistant|system)>|` +
		`#{3,}\s*[\pL ]+\s*#{0,}:?|【[^】]{0,20}】|^\s*\x60{3}`)

	// speaker matches a name in front of what somebody says, at the start of a line.
	speaker = lazyregexp.New(`(?m)^[ \t*_]*(\[)?(\pL[\pL .'’-]{0,40})(\])?[*_]*[ \t\x{a0}\x{202f}]?([:：])?[*_]*[ \t]*(.*)$`)

	// direction matches a stage direction: at least three words between asterisks or two in brackets, a word for what an
	// actor does, a gesture in brackets, or a whole message in asterisks, brackets or parentheses.
	direction = lazyregexp.New(`(?is)^\s*(?:\*[^*]+\*|\[[^\]]+\]|\([^)]*\pL[^)]*\))\s*$|` +
		`\*[\pL'’]+(?:,? [\pL\d'’,-]+){2,}[.]?\*|\[[\pL'’]+,?(?: [\pL\d'’,-]+)+[.]?\](?:[^(]|$)|` +
		`(?:^\s*|[*\[])[*(\[]?\s*(?:(?:the )?(?:caller|customer|contact|user) |il |elle |er |sie )?(?:` +
		acts + `)[^*)\]]*[*)\]]|` +
		`^\s*[*(\[]\s*(?:` + gestures + `)[^*)\]]*[*)\]]`)

	// parenthesis matches parentheses at the start of a message.
	parenthesis = lazyregexp.New(`^\s*[(（]([^()（）]+)[)）]`)

	// preface matches a line that announces what the rest quotes.
	preface = lazyregexp.New(`(?s)^([^"“”«„\n]{5,120})[:：](\s*)["“«„「][^"“”«»„「」]+["”»“」]\.?\s*$`)

	// quotations matches what a message quotes.
	quotations = lazyregexp.New(`["“„«「][^"“”„«»「」]+["”“»」]`)

	// introduction matches the name of the person in the first sentence of a scenario, with the words before it.
	introduction = lazyregexp.New(`^((?:[^\s.:,]+[ ]){1,4}?)(\p{Lu}[\pL'’-]+(?: (?:de|van|der|von|da|di|la|el|al|bin)?\s?\p{Lu}[\pL'’-]+)*)`)
)

const (
	// acts are the beginnings of words for what an actor does.
	acts = `laugh|sighs?\b|paus(?:es|ing)|smil|nods?\b|nodding|chuckl|whispers|hangs? up|hanging up|clears? (?:his|her|their)? ?throat|grin|shrug|frown|` +
		`rit\b|rire|soupir|sourit|raccroche|hoche|lacht\b|lachend|seufz|lächel|nickt|legt auf|ríe|se ríe|suspir|sonríe|cuelga|ride\b|` +
		`sospira|sorride|riattacca|ri\b|sorri|desliga|zucht|lacht|knikt|con (?:voce|voz|tono)\b|com voz|d'une voix|mit \pL+er stimme|in a \pL+ voice|with a sigh`
	// recital is the number of consecutive words of the scenario that count as reading it out. retold is the share of the
	// scenario's words that counts as telling all of it. loop is the minimum number of words for a message that counts as
	// a repetition.
	recital = 8
	retold  = 0.65
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

// roleViolation returns how a message departs from the contact's role, or nil. Texts that the scenario prescribes
// verbatim are in its role.
func roleViolation(text, scenario string, messages []model.TestMessage) error {
	said := read.NewPassage(text, false).Text
	own := read.NewPassage(quotations().ReplaceAllString(text, " "), false).Text
	switch {
	case strings.Contains(strings.ToLower(text), llm.EndConversation):
		return unusablef("it writes %s as text, and that is a tool to call", llm.EndConversation)
	case said == "" || slices.ContainsFunc(scripted().FindAllString(scenario, -1),
		func(part string) bool { return strings.Contains(read.NewPassage(part, false).Text, said) }):
		return nil
	case artifact().MatchString(text) || isJSON(text):
		return unusable("it has marks or JSON, and only what the person says is wanted")
	case namesSpeakers(text, scenario):
		return unusable("it names speakers, and only what the person says is wanted, without a name before it")
	case confession().MatchString(own) || announces(text, scenario):
		return unusable("it speaks of being a machine or of playing a part, and you are the person of the scenario")
	case speaksOfTheater(own, scenario, messages):
		return unusable("it speaks of a scenario or a simulation, and you are the person of the scenario")
	case namingError(text, scenario) != nil:
		return namingError(text, scenario)
	case offer().MatchString(own):
		return unusable("it offers help as the assistant would, and you are the person who wants something")
	case direction().MatchString(text) || isAside(text, scenario):
		return unusable("it has a stage direction, and only what the person says is wanted")
	case recites(said, scenario):
		return unusable("it reads out the scenario, which is for you alone: say in the person's own words what is needed now")
	case asksForOwnData(text, scenario, messages):
		return unusable("it asks for your own details, which only the assistant would do")
	case isEcho(said, messages):
		return unusable("it repeats what the assistant said, and you are the person the assistant talks to")
	case isLoop(said, messages):
		return unusable("it says the same for the third time, though the assistant said something else: go on, or end the " +
			"conversation")
	}
	return nil
}

func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// nameIn returns the words before the person's name in a scenario, the name, and the first word of the name. All three
// are "" if there is no name.
func nameIn(scenario string) (before, name, first string) {
	if found := introduction().FindStringSubmatch(strings.TrimSpace(scenario)); found != nil {
		before, name = found[1], found[2]
	}
	first, _, _ = strings.Cut(name, " ")
	return before, name, first
}

// namesSpeakers reports whether a text has the form of a script: a line has the name of the person, or a word for a
// speaker, in front of what somebody says. A value behind such a word is data: "Customer: 20-447".
func namesSpeakers(text, scenario string) bool {
	_, person, first := nameIn(scenario)
	for _, line := range speaker().FindAllStringSubmatch(text, -1) {
		label, isBracketed := strings.ToLower(strings.TrimSpace(line[2])), line[1] != "" && line[3] != ""
		if line[4] == "" && !isBracketed || strings.TrimSpace(line[5]) == "" {
			continue
		}
		isMarked := isBracketed || strings.HasPrefix(strings.TrimSpace(line[0]), "*")
		isAgent := agentLabels[label] && label != "ai" && label != "support"
		isName := first != "" && (strings.EqualFold(label, first) || strings.EqualFold(label, person))
		if isName || isAgent || contactLabels[label] && (isMarked || !isValue(line[5], scenario)) {
			return true
		}
	}
	return false
}

// isValue reports whether a text is a name, a number or another fact of the scenario, and not something said.
func isValue(text, scenario string) bool {
	words := strings.Fields(text)
	isFact := strings.ContainsAny(text, "0123456789") || strings.Contains(scenario, strings.Trim(text, " .,"))
	return len(words) <= 6 && (isFact || len(words) <= 3 &&
		!slices.ContainsFunc(words, func(word string) bool { return !unicode.IsUpper([]rune(word)[0]) }))
}

// announces reports whether a message is a quotation after a line that announces it.
func announces(text, scenario string) bool {
	found := preface().FindStringSubmatch(text)
	_, _, first := nameIn(scenario)
	return found != nil && (strings.Contains(found[2], "\n") || first != "" && strings.Contains(found[1], first))
}

// isAside reports whether a message begins with parentheses that speak of the person by name.
func isAside(text, scenario string) bool {
	found := parenthesis().FindStringSubmatch(text)
	if found == nil {
		return false
	}
	_, _, first := nameIn(scenario)
	if first != "" {
		return strings.Contains(found[1], first)
	}
	begin := []rune(found[1]) // scripts without capitals: the first two characters of a name
	return len(begin) > 2 && begin[0] >= 0x2E80 && strings.Contains(scenario, string(begin[:2]))
}

// recites reports whether a message repeats many words of the scenario in a row, including a word that addresses the
// contact. It also reports a message that begins like the scenario, up to the person's name, and a long one that has
// most words of the scenario. Contacts may state facts in the scenario's words.
func recites(said, scenario string) bool {
	if before, person, _ := nameIn(scenario); strings.Count(before, " ") > 1 || person != "" {
		address := read.NewPassage(before+person, false).Text
		if strings.HasPrefix(said, address) && !slices.Contains(ownWords, strings.Fields(address)[0]) {
			return true
		}
	}
	words := strings.Fields(said)
	if len(words) < recital {
		return false
	}
	if len(words) > 2*recital && covers(said, scenario) {
		return true
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

// ownWords begin scenarios that are written in the first person.
var ownWords = []string{"i", "i'm", "je", "ich", "io", "ik", "eu", "yo", "jag", "jeg", "я", "my"}

// covers reports whether a message has most content words of the scenario. It is false for short scenarios.
func covers(said, scenario string) bool {
	heard, all, shared := read.Words(said), 0, 0
	for _, word := range read.Content(read.Words(scenario)) {
		all++
		if read.ContainsForm(heard, word) {
			shared++
		}
	}
	return all > recital && float64(shared) >= retold*float64(all)
}

func isEcho(said string, messages []model.TestMessage) bool {
	if len(messages) == 0 || len(strings.Fields(said)) < loop {
		return false
	}
	last := messages[len(messages)-1]
	return last.Role == model.MessageRoleAssistant && isSame(last.Text, said)
}

// isLoop reports whether a message repeats the contact's last two messages although the agent's answers to them
// differed, or has the same sentence three times.
func isLoop(said string, messages []model.TestMessage) bool {
	sentences := map[string]int{}
	for _, sentence := range read.Sentences(said) {
		sentence = strings.Trim(sentence, " .!?")
		if sentences[sentence]++; sentences[sentence] == 3 && len(strings.Fields(sentence)) >= loop {
			return true
		}
	}
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
