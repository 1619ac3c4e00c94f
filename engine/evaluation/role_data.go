package evaluation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

var (
	// datum matches a code or number of a scenario, with the word before it.
	datum = lazyregexp.New(`([\pL]{2,})[\s.:(]{0,3}(?:(?i:number|numéro|nummer|número|numero|номер|is|est|ist|es|è|är|termina em|nr|no)[\s.:]{1,2})?` +
		`([\p{Lu}\d][\p{Lu}\d/-]*\d[\p{Lu}\d/-]*(?:[ -]\d+)*)(\s*[€$£%₽]|\s+(?i:euro|dollar|kr|zł|year|an\b|jahr|år))?`)

	// identifiers are words, or parts of words, for numbers and codes that identify somebody or something.
	identifiers = []string{
		"number", "code", "reference", "email", "e-mail", "address", "numéro", "référence", "adresse", "nummer", "kennung",
		"anschrift", "número", "código", "dirección", "correo", "numero", "codice", "indirizzo", "adres", "endereço", "numer",
		"kod", "číslo", "kód", "номер", "код", "numara", "kodu", "szám", "numărul", "codul", "numero", "koodi", "αριθμ", "κωδικ",
		"رقم", "رمز", "नंबर", "संख्या", "号", "号码", "번호", "番号", "コード", "số", "nomor",
	}
	// requests mark a question, or a polite demand.
	requests = []string{
		"?", "？", "؟", "please", "bitte", "veuillez", "s'il vous plaît", "por favor", "per favore", "mi dica", "alstublieft",
		"mag ik", "proszę", "prosím", "пожалуйста", "будь ласка", "请", "ください", "でしょうか", "주세요", "주시겠", "lütfen",
		"kérem", "vă rog", "vänligen", "venligst", "vennligst", "कृपया", "من فضلك", "vui lòng",
	}
	// firstPersons say that somebody speaks of their own data.
	firstPersons = read.Set(`my mine mon ma mes mein meine meinen meiner mi mis mio mia mijn mijne meu minha mój moja
		moje mojego můj moje min mit mitt mina мой моя моё мои моего моей мого мій моя моє benim numaram kodum 我的 我 내 제
		私の minun minu меня`)
)

// asksForOwnData reports whether a message asks for a datum that the scenario holds, such as "your order number",
// although the assistant did not mention it. It returns false for a contact that speaks of its own number.
func asksForOwnData(text, scenario string, messages []model.TestMessage) bool {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(requests, func(mark string) bool { return strings.Contains(lower, mark) }) {
		return false
	}
	asked := ""
	if n := len(messages); n > 0 && messages[n-1].Role == model.MessageRoleAssistant {
		asked = strings.ToLower(messages[n-1].Text)
	}
	words := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' })
	for _, found := range datum().FindAllStringSubmatch(scenario, -1) {
		noun := strings.ToLower(found[1])
		if found[3] != "" || strings.Contains(text, found[2]) || strings.Contains(asked, noun) {
			continue
		}
		for i, word := range words {
			near := words[max(0, i-3):min(len(words), i+3)]
			isOwn := slices.ContainsFunc(near, func(word string) bool { return firstPersons[word] })
			if isFormOf(word, noun) && !isOwn &&
				(slices.ContainsFunc(near, identifies) || strings.ToUpper(found[1]) == found[1]) {
				return true
			}
		}
	}
	return false
}

func identifies(word string) bool {
	return slices.ContainsFunc(identifiers, func(part string) bool { return strings.Contains(word, part) })
}

// isFormOf reports whether a word is another form of a noun of the scenario, or contains it.
func isFormOf(word, noun string) bool {
	if strings.Contains(word, noun) && utf8.RuneCountInString(noun) >= 3 {
		return true
	}
	one, other := []rune(word), []rune(noun)
	common := 0
	for common < min(len(one), len(other)) && one[common] == other[common] {
		common++
	}
	least := 4
	if len(other) > 0 && other[0] >= 0x2E80 {
		least = 2
	}
	return common >= least && len(other)-common <= 2
}
