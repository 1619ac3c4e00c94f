package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// Contact returns the model that plays the contact of a test's scenario. It says the scenario's script, verbatim
// and in order. Without a script, it states its wishes, sentence by sentence, and answers questions with the sentences
// that share words with them. docs/reference/offline-model.md has the rules.
func Contact() llm.Model {
	p := ruleModel{name: "contact"}
	p.answer = func(req llm.Request) (llm.Answer, error) {
		before, text, ok := strings.Cut(req.System, "\n# Scenario\n")
		if !ok {
			return llm.Answer{}, p.refuse("it only plays the contact of tests")
		}
		_, known, _ := strings.Cut(before, "\n# Knowledge\n")
		line, leaves := newRole(text, known, req.Messages).next()
		answer := llm.Answer{Text: line}
		if leaves {
			answer.ToolCalls = []llm.ToolCall{{
				ID: "offline_" + strconv.Itoa(len(req.Messages)), Name: llm.EndConversation,
				Arguments: `{"reason":"Nothing is left to say."}`,
			}}
		}
		return answer, nil
	}
	return p
}

const (
	unknownFact = "I do not know."
	farewell    = "That is all, thank you. Goodbye."
)

var (
	// spoken matches a line of the contact's script: in quotation marks, or to the end of the line after "says:" or
	// "asks:".
	spoken = lazyregexp.New(`(?i)["“„«]\s*([^"“”„«»\n]+?)\s*["”“»]|\b(?:says|asks|dit|demande)\s*:[ \t]*([^"“”„«»\n]+)`)
	// direction matches the start of a sentence that instructs the contact. The contact must not say such a sentence.
	direction = lazyregexp.New(
		`(?i)^(do not|don't|never|always|only|if|when|once|until|after|before|unless|be|stay|end|hang|stop|ask|answer|say|reveal|` +
			`refuse|speak|give|tell|wait|keep|insist|accept|pretend|act|ne|n['’]|si|quand|toujours|jamais|sois|soyez|reste|restez|donne|donnez|termine|terminez)\b`)
	// wish matches a sentence that says what the contact wants.
	wish = lazyregexp.New(`(?i)\b(want|wants|wish|wishes|need|needs|would like|like to|looking for|hope|hopes|trying to|calling|calls (to|about|because)|` +
		`veux|veut|voulez|souhaite[sz]?|souhaitez|aimerais|besoin|cherche[sz]?)\b`)
	// request matches a question or a request, with or without a question mark.
	request = lazyregexp.New(
		`(?i)\?|\b(please|tell me|give me|let me know|i need your|veuillez|dites[- ]moi|donnez[- ]moi|indiquez|merci de)\b`)
	// anythingElse matches "anything else?" and similar questions.
	anythingElse = lazyregexp.New(`(?i)\b(anything|something|what) else\b|\bautre chose\b|\bd['’]autres? questions?\b`)
)

// role is a scenario to play, with the messages so far.
type role struct {
	// script has lines that the contact says verbatim. Without a script, it says its wishes, and answers with facts.
	script, wishes, facts []string
	// said are the contact's own messages. heard is the agent's last message.
	said  []string
	heard string
}

func newRole(scenario, known string, messages []llm.Message) *role {
	r := &role{}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleAssistant:
			r.said = append(r.said, m.Text)
		case llm.RoleUser:
			r.heard = m.Text
		}
	}
	for _, found := range spoken().FindAllStringSubmatch(scenario, -1) {
		r.script = append(r.script, strings.TrimSpace(found[1]+found[2]))
	}
	r.script = slices.DeleteFunc(r.script, func(line string) bool { return line == "" })
	for _, sentence := range read.Sentences(spoken().ReplaceAllString(scenario, "")) {
		sentence = strings.TrimSpace(strings.TrimLeft(sentence, "-*• \t"))
		if len(subjectWords(sentence)) == 0 || strings.HasPrefix(sentence, "#") || direction().MatchString(sentence) {
			continue
		}
		if wish().MatchString(sentence) {
			r.wishes = append(r.wishes, inFirstPerson(sentence))
		} else {
			r.facts = append(r.facts, inFirstPerson(sentence))
		}
	}
	if len(r.wishes) == 0 {
		r.wishes, r.facts = r.facts, nil
	}
	for _, sentence := range read.Sentences(known) {
		if sentence = strings.TrimSpace(strings.TrimLeft(sentence, "-*• \t")); len(subjectWords(sentence)) > 0 {
			r.facts = append(r.facts, inFirstPerson(sentence))
		}
	}
	return r
}

// next returns what the contact says, and whether it leaves afterwards.
func (r *role) next() (line string, leaves bool) {
	if len(r.script) > 0 {
		return r.recite()
	}
	asked := request().MatchString(r.heard) && !anythingElse().MatchString(r.heard)
	if asked && len(r.said) > 0 {
		if fact := r.fact(); fact != "" {
			return fact, false
		}
	}
	for _, sentence := range r.wishes {
		if !slices.Contains(r.said, sentence) {
			return sentence, false
		}
	}
	// After two unanswered questions in a row the agent would only ask a third, so the contact leaves.
	if asked && !strings.HasSuffix(strings.Join(r.said, "\n"), unknownFact) {
		return unknownFact, false
	}
	return farewell, true
}

// recite returns the next line of the script. After the last line, it returns "" and true, so that the contact leaves.
func (r *role) recite() (string, bool) {
	due := 0
	for _, said := range r.said {
		if due < len(r.script) && said == r.script[due] {
			due++
		}
	}
	if due == len(r.script) {
		return "", true
	}
	return r.script[due], false
}

// fact returns the sentence that shares the most words with the agent's questions. It prefers sentences that the
// contact has not said. It returns "" if no sentence shares a word.
func (r *role) fact() string {
	var asked []string
	for _, sentence := range read.Sentences(r.heard) {
		if request().MatchString(sentence) {
			asked = append(asked, subjectWords(sentence)...)
		}
	}
	best, most := "", 0
	for _, repeated := range []bool{false, true} {
		for _, sentence := range slices.Concat(r.facts, r.wishes) {
			if slices.Contains(r.said, sentence) != repeated {
				continue
			}
			score := 0
			for _, word := range subjectWords(sentence) {
				if hasWord(asked, word) {
					score++
				}
			}
			if score > most {
				best, most = sentence, score
			}
		}
	}
	// Repeating the previous message would not answer a question about it.
	if len(r.said) > 0 && best == r.said[len(r.said)-1] {
		return ""
	}
	return best
}

// firstPersonRules rewrite a scenario's sentence about the contact in the first person. They apply in this order.
var firstPersonRules = []struct {
	pattern func() *regexp.Regexp
	into    string
}{
	{lazyregexp.New(`(?i)^(the (contact|caller|customer|client|user|patient|person)|he|she|they) (want|wish|need|hope)(?:es|s) `), "I $3 "},
	{lazyregexp.New(`(?i)^(the (contact|caller|customer|client|user|patient|person)|he|she|they) (is|are) `), "I am "},
	{lazyregexp.New(`(?i)^(the (contact|caller|customer|client|user|patient|person)|he|she|they) (has|have) `), "I have "},
	{lazyregexp.New(`(?i)^(the (contact|caller|customer|client|user|patient|person)|he|she|they) (would|want|need|can|cannot) `), "I $3 "},
	{lazyregexp.New(`(?i)^(the (contact|caller|customer|client|user|patient|person)['’]s|his|her|their) `), "My "},
	{lazyregexp.New(`(?i)\byou are\b`), "I am"},
	{lazyregexp.New(`(?i)\byou['’]re\b`), "I'm"},
	{lazyregexp.New(`(?i)\byou['’](ve|ll|d)\b`), "I'$1"},
	{lazyregexp.New(`(?i)\byou were\b`), "I was"},
	{lazyregexp.New(`(?i)\b(for|to|with|of|at|on|from|about|by) you\b`), "$1 me"},
	{lazyregexp.New(`(?i)\byou\b`), "I"},
	{lazyregexp.New(`\bYour\b`), "My"},
	{lazyregexp.New(`\byours\b`), "mine"},
	{lazyregexp.New(`\byour\b`), "my"},
	{lazyregexp.New(`\byourself\b`), "myself"},
	{lazyregexp.New(`(?i)\b(vous êtes|tu es)\b`), "je suis"},
	{lazyregexp.New(`(?i)\b(vous voulez|tu veux)\b`), "je veux"},
	{lazyregexp.New(`(?i)\b(vous souhaitez|tu souhaites)\b`), "je souhaite"},
	{lazyregexp.New(`(?i)\b(vous avez|tu as)\b`), "j'ai"},
	{lazyregexp.New(`\b(V|v)otre\b`), "mon"},
	{lazyregexp.New(`\b(V|v)os\b`), "mes"},
}

// inFirstPerson rewrites a sentence of the scenario as the contact would say it, with an end mark.
func inFirstPerson(sentence string) string {
	for _, p := range firstPersonRules {
		sentence = p.pattern().ReplaceAllString(sentence, p.into)
	}
	first := []rune(sentence)
	sentence = strings.ToUpper(string(first[0])) + string(first[1:])
	if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
		sentence += "."
	}
	return sentence
}
