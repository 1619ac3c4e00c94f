package model

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

// faults requires that the error is a BAD_INPUT whose messages about the field contain the text.
func faults(t require.TestingT, err error, field, text string) {
	faultsAs(t, err, BadInput, field, text)
}

// faultsAs does the same as faults, for another code.
func faultsAs(t require.TestingT, err error, code Code, field, text string) {
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, code, known.Code, "%v", err)
	require.Contains(t, known.Fields, field, "%v", err)
	require.Contains(t, strings.Join(known.Fields[field], "; "), text)
}

func chars(n int) string { return strings.Repeat("é", n) }

// bounded is a value with bounds, and the function that writes it.
type bounded[V any] struct {
	field       string
	least, most V
	text        string
	write       func(V) error
}

var texts = []bounded[int]{
	{field: "name", least: 1, most: 255, text: "255",
		write: agentWith(func(a *CreateAgentInput, n int) { a.Name = chars(n) })},
	{field: "prompt", least: 1, most: 50_000, text: "50000",
		write: agentWith(func(a *CreateAgentInput, n int) { a.Prompt = chars(n) })},
	{field: "inboundWelcomeMessage", most: 5_000, text: "5000",
		write: agentWith(func(a *CreateAgentInput, n int) { a.InboundWelcomeMessage = new(chars(n)) })},
	{field: "outboundWelcomeMessage", most: 5_000, text: "5000",
		write: agentWith(func(a *CreateAgentInput, n int) { a.OutboundWelcomeMessage = new(chars(n)) })},
	{field: "tags.0", least: 1, most: 100, text: "100",
		write: agentWith(func(a *CreateAgentInput, n int) { a.Tags = []string{chars(n)} })},
	{field: "fields.0.name", least: 1, most: 100, text: "100",
		write: agentWith(func(a *CreateAgentInput, n int) { a.Fields = []*AgentField{{Name: strings.Repeat("a", n)}} })},
	{field: "classificationTags.0.name", least: 1, most: 100, text: "100",
		write: agentWith(func(a *CreateAgentInput, n int) { a.ClassificationTags = []*ClassificationTag{{Name: chars(n)}} })},
	{field: "classificationTags.0.definition", most: 2_000, text: "2000",
		write: agentWith(func(a *CreateAgentInput, n int) {
			a.ClassificationTags = []*ClassificationTag{{Name: "a", Definition: chars(n)}}
		})},
	{field: "extractedValues.0.name", least: 1, most: 100, text: "100", write: agentWith(func(a *CreateAgentInput, n int) {
		a.ExtractedValues = []*ExtractedValue{{Name: chars(n), Type: ExtractedValueTypeNom}}
	})},
	{field: "extractedValues.0.definition", most: 2_000, text: "2000", write: agentWith(func(a *CreateAgentInput, n int) {
		a.ExtractedValues = []*ExtractedValue{{Name: "a", Definition: chars(n), Type: ExtractedValueTypeText}}
	})},
	{field: "name", least: 1, most: 255, text: "255",
		write: toolWith(func(in *CreateToolInput, n int) { in.Name = chars(n) })},
	{field: "technicalName", least: 1, most: 64, text: "64",
		write: toolWith(func(in *CreateToolInput, n int) { in.TechnicalName = strings.Repeat("a", n) })},
	{field: "description", most: 2_000, text: "2000",
		write: toolWith(func(in *CreateToolInput, n int) { in.Description = new(chars(n)) })},
	{field: "parameters", least: 17, most: 20_000, text: "20,000", write: toolWith(func(in *CreateToolInput, n int) {
		in.Parameters = JSONObject(`{"type":"object"}`)
		if n > 17 {
			in.Parameters = JSONObject(`{"type":"object","title":"` + chars(n-28) + `"}`)
		} else if n < 17 {
			in.Parameters = JSONObject(`{}` + strings.Repeat(" ", 20_000))
		}
	})},
	{field: "name", least: 1, most: 255, text: "255", write: func(n int) error {
		return AddSubAgentInput{Name: chars(n), TechnicalName: "a"}.Validate()
	}},
	{field: "description", most: 2_000, text: "2000", write: func(n int) error {
		return AddSubAgentInput{Name: "a", TechnicalName: "a", Description: new(chars(n))}.Validate()
	}},
	{field: "name", least: 1, most: 255, text: "255",
		write: datasetWith(func(in *CreateDatasetInput, n int) { in.Name = chars(n) })},
	{field: "description", most: 5_000, text: "5000",
		write: datasetWith(func(in *CreateDatasetInput, n int) { in.Description = new(chars(n)) })},
	{field: "parserConfig.delimiter", least: 1, most: 255, text: "255",
		write: datasetWith(func(in *CreateDatasetInput, n int) { in.ParserConfig.Delimiter = new(chars(n)) })},
	{field: "name", least: 1, most: 255, text: "255",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, n int) { in.Name = new(chars(n)) })},
	{field: "promptSettings.prompt", most: 50_000, text: "50000",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, n int) { in.PromptSettings.Prompt = new(chars(n)) })},
	{field: "promptSettings.opener", most: 5_000, text: "5000",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, n int) { in.PromptSettings.Opener = new(chars(n)) })},
	{field: "promptSettings.emptyResponse", most: 5_000, text: "5000",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, n int) { in.PromptSettings.EmptyResponse = new(chars(n)) })},
	{field: "chatId", least: 1, most: 64, text: "64",
		write: func(n int) error { return ConnectKnowledgeBaseChatInput{ChatID: chars(n)}.Validate() }},
	{field: "text", least: 1, most: 4_000, text: "4000",
		write: func(n int) error { return SendSimulationMessageInput{Text: chars(n)}.Validate() }},
	{field: "name", least: 1, most: 100, text: "100", write: func(n int) error {
		_, _, err := NewAPIKey(Signer{}, "company_a",
			CreateAPIKeyInput{Name: chars(n), Scopes: []APIKeyScope{APIKeyScopeRead}}, now)
		return err
	}},
	{field: "name", least: 1, most: 255, text: "255",
		write: campaignWith(func(in *CreateCampaignInput, n int) { in.Name = chars(n) })},
	{field: "name", least: 1, most: 100, text: "100",
		write: func(n int) error { return ownField(strings.Repeat("a", n)) }},
	{field: "filter.nameContains", most: 255, text: "255", write: func(n int) error {
		return (&CampaignFilter{NameContains: new(chars(n))}).Validate()
	}},
	{field: "name", least: 1, most: 255, text: "255", write: func(n int) error {
		_, err := NewCompany(chars(n), now)
		return err
	}},
}

var lists = []bounded[int]{
	{field: "tags", most: 50, text: "50",
		write: agentWith(func(a *CreateAgentInput, n int) { a.Tags = many(n, func(name string) string { return name }) })},
	{field: "fields", most: 100, text: "100", write: agentWith(func(a *CreateAgentInput, n int) {
		a.Fields = many(n, func(name string) *AgentField { return &AgentField{Name: name} })
	})},
	{field: "classificationTags", most: 100, text: "100", write: agentWith(func(a *CreateAgentInput, n int) {
		a.ClassificationTags = many(n, func(name string) *ClassificationTag { return &ClassificationTag{Name: name} })
	})},
	{field: "extractedValues", most: 100, text: "100", write: agentWith(func(a *CreateAgentInput, n int) {
		a.ExtractedValues = many(n,
			func(name string) *ExtractedValue { return &ExtractedValue{Name: name, Type: ExtractedValueTypeNom} })
	})},
	{field: "datasetIds", most: 100, text: "100", write: chatWith(func(in *UpdateKnowledgeBaseChatInput, n int) {
		in.DatasetIds = many(n, func(name string) string { return name })
	})},
	{field: "items", least: 1, most: 1_000, text: "1000", write: func(n int) error {
		return AddCampaignItemsInput{Items: make([]*CampaignItemInput, n)}.Validate()
	}},
	{field: "itemIds", least: 1, most: 1_000, text: "1000", write: func(n int) error {
		return ArchiveCampaignItemsInput{ItemIds: make([]string, n)}.Validate()
	}},
	{field: "filter.tags", most: 50, text: "50", write: func(n int) error {
		return (&AgentFilter{Tags: many(n, func(name string) string { return name })}).Validate()
	}},
}

var numbers = []bounded[float64]{
	{field: "llmSettings.temperature", least: 0, most: 2, text: "between 0 and 2",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v float64) { in.LlmSettings.Temperature = &v })},
	{field: "llmSettings.topP", least: 0, most: 1, text: "between 0 and 1",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v float64) { in.LlmSettings.TopP = &v })},
	{field: "llmSettings.presencePenalty", least: -2, most: 2, text: "between -2 and 2",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v float64) { in.LlmSettings.PresencePenalty = &v })},
	{field: "llmSettings.frequencyPenalty", least: -2, most: 2, text: "between -2 and 2",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v float64) { in.LlmSettings.FrequencyPenalty = &v })},
	{field: "promptSettings.similarityThreshold", least: 0, most: 1, text: "between 0 and 1",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v float64) { in.PromptSettings.SimilarityThreshold = &v })},
	{field: "promptSettings.keywordsSimilarityWeight", least: 0, most: 1, text: "between 0 and 1",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput,
			v float64) {
			in.PromptSettings.KeywordsSimilarityWeight = &v
		})},
	{field: "endpoint.timeoutSeconds", least: 0.1, most: 60, text: "between 0.1 and 60",
		write: toolWith(func(in *CreateToolInput, v float64) {
			in.Endpoint = &ToolEndpointInput{Method: HTTPMethodGet, URL: "https://a.example", TimeoutSeconds: v}
		})},
	{field: "toolMocking.mockedTools.0.delaySeconds", least: 0, most: 60, text: "between 0 and 60",
		write: func(v float64) error {
			return StartSimulationChatInput{AgentID: "a",
				ToolMocking: &ToolMocking{MockedTools: []MockedTool{{ToolID: "a", Mock: Mock{DelaySeconds: v}}}}}.Validate()
		}},
	{field: "toolMocking.mockedSubAgents.0.delaySeconds", least: 0, most: 60, text: "between 0 and 60",
		write: func(v float64) error {
			return StartSimulationChatInput{AgentID: "a",
				ToolMocking: &ToolMocking{
					MockedSubAgents: []MockedSubAgent{{SubAgentID: "a", Mock: Mock{DelaySeconds: v}}}}}.Validate()
		}},
}

var counts = []bounded[int32]{
	{field: "promptSettings.topN", least: 1, most: 100, text: "between 1 and 100",
		write: chatWith(func(in *UpdateKnowledgeBaseChatInput, v int32) { in.PromptSettings.TopN = &v })},
	{field: "parserConfig.chunkTokenNum", least: 1, most: 2048, text: "between 1 and 2048",
		write: datasetWith(func(in *CreateDatasetInput, v int32) { in.ParserConfig.ChunkTokenNum = &v })},
	{field: "parserConfig.taskPageSize", least: 1, most: 1000, text: "between 1 and 1000",
		write: datasetWith(func(in *CreateDatasetInput, v int32) { in.ParserConfig.TaskPageSize = &v })},
	{field: "maxAttempts", least: 1, most: 20, text: "between 1 and 20",
		write: campaignWith(func(in *CreateCampaignInput, v int32) { in.MaxAttempts = v })},
	{field: "retryDelayMinutes", least: 0, most: 43_200, text: "between 0 and 43200",
		write: campaignWith(func(in *CreateCampaignInput, v int32) { in.RetryDelayMinutes = v })},
	{field: "limit", least: 1, most: 1_000, text: "between 1 and 1000", write: func(v int32) error {
		return ClaimCampaignItemsInput{Limit: v, LeaseSeconds: 60}.Validate()
	}},
	{field: "leaseSeconds", least: 5, most: 3_600, text: "between 5 and 3600", write: func(v int32) error {
		return errors.Join(ClaimCampaignItemsInput{Limit: 1, LeaseSeconds: v}.Validate(),
			RenewCampaignClaimInput{LeaseSeconds: v}.Validate())
	}},
	{field: "first", least: 1, most: 100, text: "between 1 and 100",
		write: func(v int32) error { return PageArgs{First: v}.Validate() }},
}

func agentWith[V any](change func(*CreateAgentInput, V)) func(V) error {
	return func(v V) error {
		in := CreateAgentInput{Name: "a", Channel: ChannelWeb, Direction: DirectionInbound, Language: "en", Prompt: "a"}
		change(&in, v)
		_, err := NewAgent(in, now)
		return err
	}
}

func toolWith[V any](change func(*CreateToolInput, V)) func(V) error {
	return func(v V) error {
		in := CreateToolInput{Name: "a", TechnicalName: "a"}
		change(&in, v)
		_, err := NewTool(in.Changes(), now, func(_ string, b []byte) ([]byte, error) { return b, nil })
		return err
	}
}

func datasetWith[V any](change func(*CreateDatasetInput, V)) func(V) error {
	return func(v V) error {
		in := CreateDatasetInput{Name: "a", ParserConfig: &ParserConfigInput{}}
		change(&in, v)
		_, err := NewDataset(in, now)
		return err
	}
}

func chatWith[V any](change func(*UpdateKnowledgeBaseChatInput, V)) func(V) error {
	return func(v V) error {
		chat, err := NewKnowledgeBaseChat(CreateKnowledgeBaseChatInput{Name: "a"}, now)
		in := UpdateKnowledgeBaseChatInput{LlmSettings: &LlmSettingsInput{}, PromptSettings: &PromptSettingsInput{}}
		change(&in, v)
		return errors.Join(err, chat.Update(in, len(in.DatasetIds), now))
	}
}

func many[T any](n int, named func(string) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = named("a" + strings.Repeat("_", i%90) + string(rune('a'+i/90)))
	}
	return all
}

func TestTextsAndListsAreBounded(t *testing.T) {
	t.Parallel()
	for _, b := range append(texts, lists...) {
		require.NoError(t, b.write(b.least), b.field)
		require.NoError(t, b.write(b.most), b.field)
		if b.least > 0 {
			faults(t, b.write(b.least-1), b.field, "must ")
		}
		faults(t, b.write(b.most+1), b.field, b.text)
		faults(t, b.write(b.most*3+7), b.field, b.text)
	}
}

func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := rapid.SampledFrom(numbers).Draw(r, "number")
		inside := rapid.Float64Range(b.least, b.most).Draw(r, "inside")
		for _, v := range []float64{b.least, b.most, inside} {
			require.NoError(r, b.write(v), b.field)
		}
		for _, v := range []float64{
			math.Nextafter(b.least, math.Inf(-1)), math.Nextafter(b.most, math.Inf(1)), math.NaN(), math.Inf(1), math.Inf(-1),
			rapid.Float64Min(math.Nextafter(b.most, math.Inf(1))).Draw(r, "above"),
			rapid.Float64Max(math.Nextafter(b.least, math.Inf(-1))).Draw(r, "below"),
		} {
			faults(r, b.write(v), b.field, b.text)
		}
		c := rapid.SampledFrom(counts).Draw(r, "count")
		for _, v := range []int32{c.least, c.most, rapid.Int32Range(c.least, c.most).Draw(r, "inside")} {
			require.NoError(r, c.write(v), c.field)
		}
		for _, v := range []int32{c.least - 1, c.most + 1, rapid.Int32Min(c.most+1).Draw(r, "above"),
			rapid.Int32Max(c.least-1).Draw(r, "below")} {
			faults(r, c.write(v), c.field, c.text)
		}
	})
}

func TestBlankNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{" ", "\t\n", "\u2003"} {
		faults(t, agentWith(func(a *CreateAgentInput, name string) { a.Name = name })(name), "name", "blank")
	}
	faults(t, agentWith(func(a *CreateAgentInput, name string) { a.Name = name })("a\x00"), "name", "U+0000")
	faults(t, agentWith(func(a *CreateAgentInput, name string) { a.Name = name })("a\xff"), "name", "UTF-8")
}
