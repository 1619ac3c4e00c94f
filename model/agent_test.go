package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEveryFaultOfAnAgentIsReported(t *testing.T) {
	t.Parallel()
	_, err := NewAgent(CreateAgentInput{
		Channel: "Fax", Direction: "Sideways", Language: "english",
		Tags:               []string{"", "a"},
		Fields:             []*AgentField{{Name: "a b"}, {Name: "1a"}, {Name: "ok"}, {Name: "ok"}},
		ClassificationTags: []*ClassificationTag{{Name: "same"}, {Name: "same"}},
		ExtractedValues:    []*ExtractedValue{{Name: "v", Type: "Number"}},
	}, now)
	for field, text := range map[string]string{
		"name": "must not be empty", "prompt": "must not be empty", "channel": "Phone, SMS, Web, WhatsApp",
		"direction": "Inbound or Outbound",
		"language":  "in small letters", "tags.0": "must not be empty", "fields.0.name": "letters a to z",
		"fields.1.name": "begin with a letter",
		"fields.3.name": `"ok" occurs twice`, "classificationTags.1.name": `"same" occurs twice`,
		"extractedValues.0.type": "Text or Nom",
	} {
		faults(t, err, field, text)
	}
	require.ErrorContains(t, err, "name must not be empty; prompt must not be empty; and 1 more")
}

// A prompt needs a visible character, as a name does. Imports accept stored prompts that are blank.
func TestBlankPromptsAreRefused(t *testing.T) {
	t.Parallel()
	blank := " \t\u2800\n"
	const refused = "must not be blank"
	_, err := NewAgent(CreateAgentInput{Name: "a", Prompt: blank, Channel: ChannelWeb, Direction: DirectionInbound,
		Language: "en"}, now)
	require.EqualError(t, err, "prompt must not be blank")
	faults(t, UpdateAgentInput{Prompt: &blank}.Validate(), "prompt", refused)
	faults(t, UpdateAgentPromptInput{Prompt: blank}.Validate(), "prompt", refused)
	faults(t, StartSimulationChatInput{Prompt: &blank}.Validate(), "prompt", refused)
	faults(t, StartAgentTestExecutionInput{Prompt: &blank}.Validate(), "prompt", refused)
	variants := []*TestVariant{{Label: "a"}, {Label: "b", Prompt: &blank}}
	faults(t, StartAgentTestExecutionInput{Variants: variants}.Validate(),
		"variants.1.prompt", refused)
	_, err = PromptEdits{{Before: "Hi", After: " "}}.Apply("Hi")
	faults(t, err, "edits", "must not leave a blank prompt")
	require.NoError(t, (&Agent{Name: "a", Prompt: blank, Channel: ChannelWeb, Direction: DirectionInbound,
		Language: "en"}).CheckImported())
}

func TestAgentLanguagesAreValidated(t *testing.T) {
	t.Parallel()
	write := agentWith(func(a *CreateAgentInput, language string) { a.Language = language })
	for _, good := range []string{"en", "fr", "fr-CA"} {
		require.NoError(t, write(good))
	}
	for _, bad := range []string{"", "e", "EN", "eng", "fr_CA", "fr-ca", "en\n", "en ", "é1"} {
		faults(t, write(bad), "language", "en or fr-CA")
	}
}

func TestWelcomeMessageDependsOnTheDirection(t *testing.T) {
	t.Parallel()
	in, out := "Hello", "It's us"
	a := Agent{Direction: DirectionInbound, InboundWelcomeMessage: &in, OutboundWelcomeMessage: &out}
	require.Equal(t, &in, a.WelcomeMessage())
	a.Direction = DirectionOutbound
	require.Equal(t, &out, a.WelcomeMessage())
	a.OutboundWelcomeMessage = nil
	require.Nil(t, a.WelcomeMessage())
}

func TestChangedPromptIsANewVersion(t *testing.T) {
	t.Parallel()
	a, err := NewAgent(CreateAgentInput{Name: "a", Channel: ChannelWeb, Direction: DirectionInbound, Language: "en",
		Prompt: "a"}, now)
	require.NoError(t, err)
	require.EqualValues(t, 1, a.PromptVersion)
	require.Equal(t, now, a.CreatedAt)
	later := now.Add(time.Second)
	require.NoError(t, a.Update(UpdateAgentInput{Prompt: new("a")}, later))
	require.EqualValues(t, 1, a.PromptVersion)
	require.NoError(t, a.Update(UpdateAgentInput{Prompt: new("b")}, later))
	require.EqualValues(t, 2, a.PromptVersion)
	require.Equal(t, later, a.UpdatedAt)
	require.Equal(t, now, a.CreatedAt)
}

// Each faulty tag is reported at its position, also after a repeated one. The number of faults is bounded.
func TestEveryFaultyTagIsReported(t *testing.T) {
	t.Parallel()
	write := agentWith(func(a *CreateAgentInput, tags []string) { a.Tags = tags })
	err := write([]string{"a", "a", "", "", strings.Repeat("a", 101)})
	for _, field := range []string{"tags.2", "tags.3"} {
		faults(t, err, field, "must not be empty")
	}
	faults(t, err, "tags.4", "must have 1 to 100 characters")
	var known *Error
	require.ErrorAs(t, write(make([]string, 200_000)), &known)
	require.Len(t, known.Fields, maxTags)
	a, err := NewAgent(CreateAgentInput{Name: "a", Channel: ChannelWeb, Direction: DirectionInbound, Language: "en",
		Prompt: "a", Tags: slices.Repeat([]string{"b", "a"}, 40)}, now)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, a.Tags)
}

// A body may hold as many different tags as fit into 1 MiB. They are refused at once, with one fault.
func TestTooManyTagsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	tags := make([]string, 200_000)
	for i := range tags {
		tags[i] = fmt.Sprintf("%05x\x00", i)
	}
	err := agentWith(func(a *CreateAgentInput, tags []string) { a.Tags = tags })(tags)
	faults(t, err, "tags", "not 200000")
	require.Less(t, len(err.Error()), 200)
}

func TestUniqueKeepsFirstOccurrences(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b", "a", ""}, Unique([]string{"b", "a", "b", "", "", "a"}))
	require.NotNil(t, Unique[string](nil))
}

func TestTechnicalNamesAreValidated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a1_", strings.Repeat("z", 64)} {
		require.NoError(t, AddSubAgentInput{Name: "a", TechnicalName: name}.Validate())
	}
	for _, name := range []string{"", "A", "1a", "_a", "a-b", "a b", "é", "a\n", "end_conversation", "transfer_call",
		"knowledge_base", "a\x00"} {
		faults(t, AddSubAgentInput{Name: "a", TechnicalName: name}.Validate(), "technicalName", "must ")
		faults(t, toolWith(func(in *CreateToolInput, name string) { in.TechnicalName = name })(name), "technicalName",
			"must ")
	}
	stored := &Tool{Name: "a", TechnicalName: "knowledge_base", Parameters: JSONObject(`{"type":"object"}`)}
	same := UpdateToolInput{TechnicalName: new("knowledge_base"), Description: new("b")}
	require.NoError(t, stored.Update(same, now, nil))
	other := &Tool{Name: "a", Parameters: stored.Parameters}
	faults(t, other.Update(same, now, nil), "technicalName", "must not be knowledge_base, because searches")
	sub := &SubAgent{Name: "a", TechnicalName: "knowledge_base"}
	require.NoError(t, sub.Update(UpdateSubAgentInput{Name: new("b")}))
	require.NoError(t, sub.CheckImported(), "archives of older versions have the name")
	require.NoError(t, stored.CheckImported())
	faults(t, (&SubAgent{TechnicalName: "A"}).CheckImported(), "technicalName", "must have")
}
