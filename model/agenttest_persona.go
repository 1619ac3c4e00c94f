package model

import (
	"fmt"
	"slices"
)

// Bounds of a persona.
const (
	maxPatience  = 10
	maxLanguage  = 50
	maxKnowledge = 5_000
	// maxSights bounds the list judgeSees, which may contain values several times.
	maxSights = 10
)

// ContactPersona describes a simulated contact. A nil field leaves the trait to the scenario.
type ContactPersona struct {
	Mood *ContactMood `json:"mood,omitempty"`
	// Patience is how many unhelpful answers in a row the contact tolerates.
	Patience  *int32  `json:"patience,omitempty"`
	Language  *string `json:"language,omitempty"`
	Knowledge *string `json:"knowledge,omitempty"`
}

// orNone returns nil for a persona without fields.
func (p *ContactPersona) orNone() *ContactPersona {
	if *p == (ContactPersona{}) {
		return nil
	}
	return p
}

func (f *Fields) persona(path string, p *ContactPersona) {
	if p == nil {
		return
	}
	if p.Mood != nil && !p.Mood.IsValid() {
		f.Add(path+".mood", "must be one of %v", AllContactMood)
	}
	f.count(path+".patience", p.Patience, 1, maxPatience)
	if p.Language != nil {
		f.name(path+".language", *p.Language, maxLanguage)
	}
	if p.Knowledge != nil {
		f.name(path+".knowledge", *p.Knowledge, maxKnowledge)
	}
}

func (f *Fields) judgeSights(path string, sights []JudgeSight) {
	if f.list(path, len(sights), maxSights) &&
		slices.ContainsFunc(sights, func(s JudgeSight) bool { return !s.IsValid() }) {
		f.Add(path, "must contain only %v", AllJudgeSight)
	}
}

func (f *Fields) spoken(path string, messages []*string) {
	if !f.list(path, len(messages), MaxTurns) {
		return
	}
	for i, message := range messages {
		if message != nil {
			f.name(fmt.Sprintf("%s.%d", path, i), *message, MaxTestMessageLength)
		}
	}
}

// SaysIn returns the fixed text of the contact's turn, counted from 0, or nil if the model writes it.
func (t *AgentTestRow) SaysIn(turn int) *string {
	if turn >= len(t.ContactSays) {
		return nil
	}
	return t.ContactSays[turn]
}

// Sees reports whether the judge of the test sees something in addition to the conversation.
func (t *AgentTestRow) Sees(sight JudgeSight) bool { return slices.Contains(t.JudgeSees, sight) }
