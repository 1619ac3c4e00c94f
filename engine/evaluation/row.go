package evaluation

import (
	"maps"
	"slices"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// fillRow puts the row of a run, if any, into the test of its snapshot. The row's values override the variables. They
// also fill the placeholders of messages, tags and the failures of mocks, which stay unfilled in tests without rows.
// Other placeholders are filled later.
func fillRow(run *model.AgentTestRun) error {
	if run.RowValues == nil {
		return nil
	}
	test := *run.Snapshot.Test
	given := test.Variables
	if test.ConversationContext != nil {
		given = test.ConversationContext.DataBag
	}
	variables, err := content.ValuesOf(given)
	if err != nil {
		return err
	}
	row, err := content.ValuesOf(*run.RowValues)
	if err != nil {
		return err
	}
	values := content.Values{}
	maps.Copy(values, variables)
	maps.Copy(values, row)
	object, err := model.ObjectOf(values)
	if err != nil {
		return err
	}
	filling := &rowFilling{values: values}
	if test.ConversationContext != nil {
		test.ConversationContext = &model.ConversationContext{Messages: filling.messages(test.ConversationContext.Messages),
			DataBag: object}
		test.TagExpected = filling.text(test.TagExpected)
	} else {
		test.Variables = object
		test.ConversationMessages = filling.messages(test.ConversationMessages)
		test.ToolMocking = filling.mocking(test.ToolMocking)
	}
	run.Snapshot.Test = &test
	if filling.size > content.MaxRendered {
		return errTooLong
	}
	return nil
}

// rowFilling fills the placeholders of a test. All texts together may have content.MaxRendered bytes.
type rowFilling struct {
	values content.Values
	size   int
}

// text fills a text, unless the texts have exceeded the bound.
func (f *rowFilling) text(text string) string { return *f.optional(&text, identity) }

// optional is like the method text, but the text may be nil. write encodes each value.
func (f *rowFilling) optional(text *string, write func(string) string) *string {
	if f.size > content.MaxRendered {
		return text
	}
	filled := f.values.FillOptional(text, write)
	if filled != nil {
		f.size += len(*filled)
	}
	return filled
}

func (f *rowFilling) messages(messages []model.TestMessage) []model.TestMessage {
	filled := slices.Clone(messages)
	for i := range filled {
		filled[i].Text = f.text(filled[i].Text)
		filled[i].ToolCalls = slices.Clone(filled[i].ToolCalls)
		for n, call := range filled[i].ToolCalls {
			filled[i].ToolCalls[n].Result, filled[i].ToolCalls[n].Error = f.optional(call.Result, identity),
				f.optional(call.Error, identity)
		}
	}
	return filled
}

// mocking fills the conditions and failures. Templates are filled when a call is answered.
func (f *rowFilling) mocking(given *model.ToolMocking) *model.ToolMocking {
	if given == nil {
		return nil
	}
	mocking := *given
	mocking.MockedTools, mocking.MockedSubAgents = slices.Clone(given.MockedTools), slices.Clone(given.MockedSubAgents)
	for i := range mocking.MockedTools {
		mocking.MockedTools[i].Rules = f.rules(mocking.MockedTools[i].Rules)
	}
	for i := range mocking.MockedSubAgents {
		mocking.MockedSubAgents[i].Rules = f.rules(mocking.MockedSubAgents[i].Rules)
	}
	return &mocking
}

func (f *rowFilling) rules(rules []model.MockRule) []model.MockRule {
	filled := slices.Clone(rules)
	for i := range filled {
		filled[i].When = engine.FillConditions(filled[i].When, f.optional)
		if failure := filled[i].Failure; failure != nil {
			copied := *failure
			copied.Body, filled[i].Failure = f.optional(failure.Body, identity), &copied
		}
	}
	return filled
}

func identity(value string) string { return value }

// inAllRows returns the variables, overridden by the values that every row of a test has. If rows differ, the first
// row's value counts.
func inAllRows(b content.Values, rows []model.TestRow) (content.Values, error) {
	common := content.Values{}
	maps.Copy(common, b)
	var shared content.Values
	for i := range rows {
		values, err := content.ValuesOf(rows[i].Values)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			shared = values
			continue
		}
		maps.DeleteFunc(shared, func(name string, _ any) bool { return values[name] == nil })
	}
	maps.Copy(common, shared)
	return common, nil
}
