package evaluation

import (
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// find returns the part of the message or its calls that equals the quote, compared as read.NewPassage folds texts. The
// quote must contain a word and match whole words and numbers. The judge can quote a call's name with its arguments,
// its result, its error, its whole JSON, and its excerpts from the knowledge base. In calls, white space matters only
// within words. callID is the call of the quote, preferably one that was not cited. It is nil for the message's text.
func (m transcriptMessage) find(quote string, cited map[string]bool) (found string, callID *string) {
	for _, text := range m.texts() {
		if found = read.NewPassage(text, false).Find(read.NewQuote(quote, false)); found != "" {
			return found, nil
		}
	}
	if len(m.Calls) == 0 {
		return "", nil
	}
	loose := read.NewQuote(quote, true)
	for _, call := range m.Calls {
		for _, text := range call.texts() {
			here := read.NewPassage(text, true).Find(loose)
			if here == "" || found != "" && cited[call.id] {
				continue
			}
			found, callID = here, &call.id
			if !cited[call.id] {
				return found, callID
			}
			break
		}
	}
	return found, callID
}

// kindOf returns where find has found a quote. Without a callID, the quote is in the text.
func (m transcriptMessage) kindOf(quote string, callID *string) model.EvidenceKind {
	if callID == nil {
		return model.EvidenceKindSaid
	}
	for _, call := range m.Calls {
		call.Result, call.Error, call.excerpts = nil, nil, nil
		if call.id != *callID {
			continue
		}
		for _, text := range call.texts() {
			if read.NewPassage(text, true).Find(read.NewQuote(quote, true)) != "" {
				return model.EvidenceKindCalled
			}
		}
	}
	return model.EvidenceKindResult
}

// texts returns the quotable texts of the message itself: its shown parts.
func (m transcriptMessage) texts() []string {
	if m.pieces != nil {
		return m.pieces
	}
	return []string{m.Text}
}

// texts returns the quotable texts of a call.
func (c transcriptCall) texts() []string {
	texts := []string{c.Name + " " + content.Encode(c.Arguments), content.Encode(c)}
	for _, text := range []*string{c.Result, c.Error} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	return append(texts, c.excerpts...)
}
