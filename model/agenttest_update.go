package model

import (
	"strings"
)

// OfSimulation returns the changes of a simulation test. It returns BAD_INPUT if the input has fields of a
// classification test, or messages that break a bound.
func (in *UpdateAgentTestInput) OfSimulation() (UpdateSimulationTestInput, error) {
	var faults Fields
	faults.foreign("conversationContext", in.ConversationContext != nil, AgentTestKindClassification)
	faults.foreign("tagExpected", in.TagExpected != nil, AgentTestKindClassification)
	// The messages are checked here, because they have another name in the input of a simulation test.
	faults.startingMessages("conversationMessages", Values(in.ConversationMessages))
	return UpdateSimulationTestInput{
		TestID: in.TestID, ExpectedUpdatedAt: in.ExpectedUpdatedAt, Name: in.Name, MayRepeatName: in.MayRepeatName,
		FolderID: in.FolderID, Scenario: in.Scenario, Criteria: in.Criteria, CriteriaWeights: in.CriteriaWeights,
		Checks: in.Checks, PassAt: in.PassAt, JudgeSees: in.JudgeSees, Persona: in.Persona, ContactSays: in.ContactSays,
		MaxTurns:            in.MaxTurns,
		ConversationContext: in.ConversationMessages, Variables: in.Variables, ToolMocking: in.ToolMocking, Rows: in.Rows,
	}, faults.Err()
}

// OfClassification returns the changes of a classification test. It returns BAD_INPUT if the input has fields of a
// simulation test.
func (in *UpdateAgentTestInput) OfClassification() (UpdateClassificationTestInput, error) {
	var faults Fields
	faults.foreign("scenario", in.Scenario != nil, AgentTestKindSimulation)
	faults.foreign("criteria", in.Criteria != nil, AgentTestKindSimulation)
	faults.foreign("criteriaWeights", in.CriteriaWeights != nil, AgentTestKindSimulation)
	faults.foreign("passAt", in.PassAt != nil, AgentTestKindSimulation)
	faults.foreign("checks", in.Checks != nil, AgentTestKindSimulation)
	faults.foreign("judgeSees", in.JudgeSees != nil, AgentTestKindSimulation)
	faults.foreign("persona", in.Persona != nil, AgentTestKindSimulation)
	faults.foreign("contactSays", in.ContactSays != nil, AgentTestKindSimulation)
	faults.foreign("maxTurns", in.MaxTurns != nil, AgentTestKindSimulation)
	faults.foreign("conversationMessages", in.ConversationMessages != nil, AgentTestKindSimulation)
	faults.foreign("variables", in.Variables != nil, AgentTestKindSimulation)
	faults.foreign("toolMocking", in.ToolMocking != nil, AgentTestKindSimulation)
	return UpdateClassificationTestInput{
		TestID: in.TestID, ExpectedUpdatedAt: in.ExpectedUpdatedAt, Name: in.Name, MayRepeatName: in.MayRepeatName,
		FolderID: in.FolderID, ConversationContext: in.ConversationContext, TagExpected: in.TagExpected, Rows: in.Rows,
	}, faults.Err()
}

// foreign records a fault if a field of the other kind of test is given.
func (f *Fields) foreign(path string, given bool, kind AgentTestKind) {
	if given {
		f.Add(path, "can be given only for %s tests, and this test is of the other kind", strings.ToLower(string(kind)))
	}
}
