package model

import "testing"

func TestKnowledgeBaseChatReportsAllFaults(t *testing.T) {
	t.Parallel()
	in := UpdateKnowledgeBaseChatInput{Name: new(""), DatasetIds: []string{"dataset_1"},
		PromptSettings: &PromptSettingsInput{Prompt: new("Answer.")}}
	faultsAs(t, in.Validate(), BadInput, "name", "empty")
	faultsAs(t, in.Validate(), BadInput, "promptSettings.prompt", "must contain {knowledge}")
}
