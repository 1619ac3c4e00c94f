package evaluation

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// find returns the part of the message or of its calls that read.Cite accepts as the quote. The judge can put the
// speaker before a quote. Of a call, the judge can quote the name with the arguments, the result, the error, the whole
// JSON, or excerpts from the knowledge base. callID is the call of the quote, preferably one that was not cited. It is
// nil for the message's text.
func (m transcriptMessage) find(quote string, cited map[string]bool) (found string, callID *string) {
	texts := m.pieces
	if texts == nil {
		texts = []string{m.Text}
	}
	for _, text := range texts {
		for _, said := range []string{quote, withoutSpeaker(quote, m.Speaker)} {
			if found = read.Cite(text, said); found != "" {
				return found, nil
			}
		}
	}
	for _, call := range m.Calls {
		here := call.find(quote)
		if here == "" || found != "" && cited[call.id] {
			continue
		}
		found, callID = here, &call.id
		if !cited[call.id] {
			return found, callID
		}
	}
	return found, callID
}

// find returns the part of the call that the quote repeats. White space and the order of members do not matter.
func (c transcriptCall) find(quote string) string {
	if found := c.findObject(quote); found != "" {
		return found
	}
	given, whole := c.Name+" "+content.Encode(c.Arguments), content.Encode(c)
	if found := read.NewPassage(given, true).Find(read.NewQuote(quote, true)); found != "" {
		return found
	}
	for _, text := range append(c.results(), given) {
		if found := read.Cite(text, quote); found != "" {
			return found
		}
	}
	return read.NewPassage(whole, true).Find(read.NewQuote(quote, true))
}

// called matches a call in a quote: its name, if there is one, and its arguments as JSON, or as a function call.
var called = regexp.MustCompile(`(?s)^\s*([\pL\d_.-]*)\s*\(?\s*(\{.*\}|[\pL\d_]+\s*=.*?)\s*\)?\s*$`)

// findObject returns the arguments or the result of the call if the quote has some of their members, in any order. If
// the quote also names the call, findObject reads only the arguments, and returns the name with them. It returns "" if
// the quote does not match.
func (c transcriptCall) findObject(quote string) string {
	parts := called.FindStringSubmatch(quote)
	if parts == nil {
		return ""
	}
	wanted, err := content.ParseJSON(parts[2])
	members, isObject := wanted.(map[string]any)
	if err != nil {
		members, isObject = keywordsIn(parts[2])
	}
	if !isObject || len(members) == 0 {
		return ""
	}
	texts := []string{content.Encode(c.Arguments)}
	if parts[1] == "" && c.Result != nil {
		texts = append(texts, *c.Result)
	}
	for i, text := range texts {
		given, err := content.ParseJSON(text)
		object, isObject := given.(map[string]any)
		if err != nil || !isObject || parts[1] != "" && parts[1] != c.Name {
			continue
		}
		isIn := true
		for name, value := range members {
			isIn = isIn && reflect.DeepEqual(object[name], value)
		}
		switch {
		case isIn && i == 0 && parts[1] != "":
			return c.Name + " " + text
		case isIn:
			return text
		}
	}
	return ""
}

// keyword matches an argument of a function call: a name, and a value in double, single or no quotation marks.
var keyword = regexp.MustCompile(`^\s*([\pL\d_]+)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,\s]+)\s*(?:,|$)`)

func keywordsIn(text string) (map[string]any, bool) {
	members := map[string]any{}
	for strings.TrimSpace(text) != "" {
		found := keyword.FindStringSubmatch(text)
		if found == nil {
			return nil, false
		}
		value, err := content.ParseJSON(found[2])
		if err != nil {
			value = strings.Trim(found[2], "'")
		}
		members[found[1]], text = value, text[len(found[0]):]
	}
	return members, true
}

// These words name the speakers in front of a quote.
var (
	agentLabels = read.Set(`agent assistant assistante bot chatbot ai advisor adviser operator representative support
		conseiller conseillère opérateur mitarbeiter mitarbeiterin berater beraterin agente asistente operador operadora
		operatore operatrice assistente medewerker medewerkster atendente konsultant doradca pracownik handläggare rådgiver
		medarbetare оператор агент консультант ассистент temsilci asistan الموظف الوكيل المساعد 担当者 エージェント オペレーター
		担当 客服 助手 坐席 代理 상담원 에이전트 operátor asiakaspalvelija`)
	contactLabels = read.Set(`contact customer caller client user guest patient appelant appelante cliente utilisateur kunde
		kundin anrufer anruferin nutzer gast usuario usuaria utente chiamante klant beller gebruiker usuário klient kund
		kunden клиент пользователь müşteri العميل 顧客 お客様 客户 用户 顾客 고객 zákazník asiakas`)
)

// withoutSpeaker removes the speaker's label from the front of a quote.
func withoutSpeaker(quote, speaker string) string {
	label, said, hasLabel := strings.Cut(strings.ReplaceAll(quote, "：", ":"), ":")
	labels := agentLabels
	if speaker == rules.Contact {
		labels = contactLabels
	}
	if hasLabel && labels[strings.ToLower(strings.Trim(label, " *_[]\u00a0\u202f"))] {
		return said
	}
	return quote
}

// kindOf returns where find has found a quote. Without a callID, the quote is in the text.
func (m transcriptMessage) kindOf(quote string, callID *string) model.EvidenceKind {
	if callID == nil {
		return model.EvidenceKindSaid
	}
	for _, call := range m.Calls {
		call.Result, call.Error, call.excerpts = nil, nil, nil
		if call.id == *callID && call.find(quote) != "" {
			return model.EvidenceKindCalled
		}
	}
	return model.EvidenceKindResult
}

// results returns the result, the error and the excerpts of the call.
func (c transcriptCall) results() (texts []string) {
	for _, text := range []*string{c.Result, c.Error} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	return append(texts, c.excerpts...)
}
