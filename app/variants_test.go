package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

type shownPercentiles struct{ P50, P90, P95, P99, Max float64 }

type shownUsage struct {
	Answers                            int
	Models                             []string
	InputTokens, OutputTokens, Credits float64
	FirstTokenMs, TookMs               *shownPercentiles
}

type shownVariant struct {
	Label                  string
	IsDraft                bool
	Prompt, Model          *string
	PromptVersion          *int
	Counts                 struct{ Total, Passed, Failed, Error int }
	DurationMs             *shownPercentiles
	Usage                  shownUsage
	Conclusion             *string
	PValue, AdjustedPValue *float64
	Tests                  []struct {
		TestName, TestID       string
		Counts                 struct{ Total, Passed, Failed, Error int }
		Usage                  shownUsage
		Change, Conclusion     *string
		PValue, AdjustedPValue *float64
		Runs                   []struct {
			Variant *string
			Attempt int
			Status  string
		}
	}
}

const variantFields = `fragment counts on AgentTestRunCounts { total passed failed error }
fragment percentiles on Percentiles { p50 p90 p95 p99 max }
fragment usage on UsageSummary { answers models inputTokens outputTokens credits firstTokenMs { ...percentiles }
	tookMs { ...percentiles } }
fragment variants on AgentTestExecution { variants { label isDraft prompt promptVersion model counts { ...counts }
	durationMs { ...percentiles } usage { ...usage } conclusion pValue adjustedPValue
	tests { testId testName counts { ...counts } usage { ...usage } change conclusion pValue adjustedPValue
		runs { variant attempt status } } } }
`

type shownVariants struct {
	AgentTestExecution struct {
		FinishedAt    *string
		IsDraft       bool
		Repeats       int
		PassHatKTests []int
		FlakyTestIds  []string
		LeftOutTests  []struct{ TestID string }
		Variants      []shownVariant
	}
}

// variantsOf waits for the end of an execution and returns its variants.
func (g *gatewayUnderTest) variantsOf(t *testing.T, key, id string) (shown shownVariants) {
	t.Helper()
	require.Eventually(t, func() bool {
		shown = shownVariants{}
		g.must(t, key, variantFields+`query ($id: ID!) { agentTestExecution(id: $id) {
			finishedAt isDraft repeats passHatKTests flakyTestIds leftOutTests { testId } ...variants } }`,
			map[string]any{"id": id}, &shown)
		return shown.AgentTestExecution.FinishedAt != nil
	}, 60*time.Second, 50*time.Millisecond)
	return shown
}

const startVariants = `mutation ($input: StartAgentTestExecutionInput!) {
	startAgentTestExecution(input: $input) { execution { id } } }`

type startedVariants struct {
	StartAgentTestExecution struct{ Execution struct{ ID string } }
}

// One suite runs over the formats of three providers. The variants show which provider is worth its price.
func TestVariantsCompareProviders(t *testing.T) {
	t.Parallel()
	says := func(text string) []fixture {
		return []fixture{{"match": fixture{}, "response": fixture{"content": text,
			"usage": fixture{"prompt_tokens": 1000, "completion_tokens": 100}}}}
	}
	server := startProvider(t, map[string][]fixture{
		"default": says("We open at 8 am."), "claude": says("We open at 8 am."), "gem": says("I do not know."),
		"responder": says("We open at 8 am. "),
	})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Company")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Help."})
	require.NoError(t, err)
	priced := func(o *app.EngineOptions) {
		server.lists(o)
		for i := range o.Models {
			perThousand := map[string]model.Credits{"my claude": 20, "my gem": 1, "my responder": 4}[o.Models[i].Name]
			o.Models[i].Prices = model.Prices{InputTokens: perThousand * model.Credit,
				OutputTokens: perThousand * model.Credit}
		}
	}
	s := serve(t, address, key, server.asks("default"), priced)
	for _, name := range []string{"Opening", "Hours", "Early"} {
		s.must(t, key, `mutation ($agent: ID!, $name: String!) { createSimulationTest(input: {agentId: $agent, name: $name,
			scenario: "You ask.", contactSays: ["When do you open?"], maxTurns: 1,
			checks: [{expect: {says: {text: "8 am"}}}]}) { agentTest { id } } }`,
			map[string]any{"agent": agent.ID, "name": name}, &struct{}{})
	}
	input := map[string]any{"agentId": agent.ID, "repeats": 4, "concurrency": 10, "variants": []any{
		map[string]any{"label": "claude", "model": "my claude"},
		map[string]any{"label": "gem", "model": "my gem"},
		map[string]any{"label": "responder", "model": "my responder"},
	}}
	var estimate struct {
		AgentTestExecutionEstimate struct{ Runs, RunsAtMost int }
	}
	s.must(t, key, `query ($input: StartAgentTestExecutionInput!) { agentTestExecutionEstimate(input: $input) {
		runs runsAtMost } }`, map[string]any{"input": input}, &estimate)
	require.Equal(t, 36, estimate.AgentTestExecutionEstimate.Runs)
	require.Equal(t, 36, estimate.AgentTestExecutionEstimate.RunsAtMost)

	var started startedVariants
	s.must(t, key, startVariants, map[string]any{"input": input}, &started)
	execution := s.variantsOf(t, key, started.StartAgentTestExecution.Execution.ID).AgentTestExecution
	require.True(t, execution.IsDraft, "the tests keep their last runs")
	require.Equal(t, []int{9, 9, 9, 9}, execution.PassHatKTests, "the variants of a test are counted separately")
	require.Empty(t, execution.FlakyTestIds, "variants that differ are not flaky")
	require.Len(t, execution.Variants, 3)
	claude, gem, responder := execution.Variants[0], execution.Variants[1], execution.Variants[2]
	require.Equal(t, "claude", claude.Label)
	require.Equal(t, "my claude", *claude.Model)
	require.False(t, claude.IsDraft)
	require.Nil(t, claude.Conclusion, "the others are compared with the first")
	require.Equal(t, "Regressed", *gem.Conclusion)
	require.Less(t, *gem.AdjustedPValue, 0.05)
	require.LessOrEqual(t, *gem.PValue, *gem.AdjustedPValue)
	require.Equal(t, "NoDifference", *responder.Conclusion)
	for _, v := range execution.Variants {
		passed := map[bool]int{true: 0, false: 12}[v.Label == "gem"]
		require.Equal(t, []int{12, passed, 12 - passed, 0},
			[]int{v.Counts.Total, v.Counts.Passed, v.Counts.Failed, v.Counts.Error}, v.Label)
		require.Equal(t, []string{"my " + v.Label}, v.Usage.Models)
		require.Equal(t, 12, v.Usage.Answers)
		require.InDelta(t, 12_000, v.Usage.InputTokens, 0)
		require.InDelta(t, 1_200, v.Usage.OutputTokens, 0)
		require.InDelta(t, map[string]float64{"claude": 264, "gem": 13.2, "responder": 52.8}[v.Label], v.Usage.Credits, 1e-9)
		require.LessOrEqual(t, v.DurationMs.P50, v.DurationMs.P95)
		require.LessOrEqual(t, v.Usage.FirstTokenMs.P95, v.Usage.TookMs.Max)
		require.Len(t, v.Tests, 3)
		for i, test := range v.Tests {
			require.Equal(t, claude.Tests[i].TestID, test.TestID, "all variants have the same order")
			require.Len(t, test.Runs, 4)
			require.Equal(t, v.Label, *test.Runs[0].Variant)
			require.Equal(t, 4, test.Usage.Answers)
			require.InDelta(t, v.Usage.Credits/3, test.Usage.Credits, 1e-9)
			if v.Label == "gem" {
				require.Equal(t, "NewlyFailing", *test.Change)
				require.Equal(t, "CannotDecide", *test.Conclusion, "four runs cannot decide one of six cells")
				require.InDelta(t, 2.0/70, *test.PValue, 1e-9)
				require.Greater(t, *test.AdjustedPValue, 0.05)
			}
		}
	}
	var last struct {
		AgentTests struct{ Nodes []struct{ LastRunID *string } }
	}
	s.must(t, key, `{ agentTests { nodes { lastRunId } } }`, nil, &last)
	require.Nil(t, last.AgentTests.Nodes[0].LastRunID)

	for variable, want := range map[string]string{
		`[{"label": "a"}]`:                                                    "must have 2 to 12 entries, not 1",
		`[{"label": "a"}, {"label": "a"}]`:                                    "variants.1.label must be unique",
		`[{"label": "a"}, {"label": " a "}]`:                                  "variants.1.label must be unique",
		`[{"label": "a"}, {"label": "b", "model": "no"}]`:                     "variants.1.model must be one of",
		`[{"label": "a"}, {"label": "b", "promptVersion": 9}]`:                "which the agent does not have",
		`[{"label": "a"}, {"label": "b", "prompt": "x", "promptVersion": 1}]`: "must not be given together with prompt",
	} {
		refused := s.query(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agent.ID,
			"variants": json.RawMessage(variable)}})
		require.NotEmpty(t, refused.Errors, variable)
		require.Contains(t, refused.Errors[0].Message, want)
	}
}

// Settings are variants too. The knowledge base chat itself does not change.
func TestVariantsOfSettings(t *testing.T) {
	t.Parallel()
	server := startProvider(t, map[string][]fixture{"m": {says("I do not know.").but("match", fixture{})}})
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Company")
	g := serve(t, address, key, server.asks("m"))
	agents := map[string]string{}
	for _, name := range []string{"informed", "plain"} {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: name, Channel: model.ChannelWeb,
			Direction: model.DirectionInbound, Language: "en", Prompt: "Help."})
		require.NoError(t, err)
		agents[name] = agent.ID
		g.must(t, key, `mutation ($agent: ID!) { createSimulationTest(input: {agentId: $agent, name: "Hours",
			scenario: "You ask.", contactSays: ["When do you open?"], maxTurns: 1,
			checks: [{expect: {says: {text: "8 am"}}}]}) { agentTest { id } } }`,
			map[string]any{"agent": agent.ID}, &struct{}{})
	}
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Manuals"})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Hours",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(t.Context(), model.ConnectKnowledgeBaseChatInput{
		AgentID: agents["informed"], ChatID: chat.ID})
	require.NoError(t, err)

	run := func(agent, variants string) (passed []int, settings []string) {
		var started startedVariants
		g.must(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agents[agent], "concurrency": 1,
			"variants": json.RawMessage(variants)}}, &started)
		id := started.StartAgentTestExecution.Execution.ID
		for _, v := range g.variantsOf(t, key, id).AgentTestExecution.Variants {
			passed = append(passed, v.Counts.Passed)
		}
		var tried struct {
			AgentTestExecution struct {
				Variants []struct{ Settings json.RawMessage }
			}
		}
		g.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) { variants { settings } } }`,
			map[string]any{"id": id}, &tried)
		for _, v := range tried.AgentTestExecution.Variants {
			settings = append(settings, string(v.Settings))
		}
		return passed, settings
	}
	passed, settings := run("informed", `[{"label": "now"}, {"label": "cold", "llmSettings": {"temperature": 0}},
		{"label": "told", "promptSettings": {"emptyResponse": "We open at 8 am."}},
		{"label": "same", "llmSettings": {"topP": null}, "promptSettings": {}}]`)
	require.Equal(t, []int{0, 0, 1, 0}, passed)
	require.Equal(t, []string{"null", `{"llmSettings":{"temperature":0}}`,
		`{"promptSettings":{"emptyResponse":"We open at 8 am."}}`, "null"}, settings)
	run("plain", `[{"label": "now"}, {"label": "hot", "llmSettings": {"temperature": 2}}]`)
	temperatures := []float64{}
	for _, asked := range server.asked(t, "m") {
		if asked.Temperature != nil {
			temperatures = append(temperatures, *asked.Temperature)
		}
	}
	require.Equal(t, []float64{0.1, 0, 0.1, 2}, temperatures, "the chat's own, and those of two variants")
	unchanged, err := tenant.KnowledgeBaseChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, chat.LlmSettings, unchanged.LlmSettings)
	require.Equal(t, chat.PromptSettings, unchanged.PromptSettings)

	long := strings.Repeat("x", 49_988)
	for variant, want := range map[string]string{
		`{"label": "b", "llmSettings": {"temperature": 3}}`: "variants.1.llmSettings.temperature must be a number between",
		`{"label": "b", "promptSettings": {"topN": 0}}`:     "variants.1.promptSettings.topN must be between 1 and 100",
		`{"label": "b", "promptSettings": {"topN": 1}}`: "variants.1.promptSettings must not be given, because agent \"" +
			agents["plain"] + "\" has no knowledge base chat",
		`{"label": "b", "promptSettings": {"prompt": "x"}}`: "variants.1.promptSettings.prompt must contain {knowledge}",
		`{"label": "b", "promptSettings": {"prompt": "{knowledge} ` + long + `"}}, {"label": "c", "prompt": "` + long +
			`............"}, {"label": "d", "prompt": "x"}`: "prompts of at most 100000 characters together, not 100001",
	} {
		refused := g.query(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agents["plain"],
			"variants": json.RawMessage(`[{"label": "a"}, ` + variant + `]`)}})
		require.NotEmpty(t, refused.Errors, variant)
		require.Contains(t, refused.Errors[0].Message, want)
	}
	refused := g.query(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agents["informed"],
		"variants": json.RawMessage(`[{"label": "a"}, {"label": "b", "promptSettings": {"rerankModel": "no"}}]`)}})
	require.NotEmpty(t, refused.Errors)
	require.Contains(t, refused.Errors[0].Message, "variants.1.promptSettings.rerankModel must be empty")
}

// Prompts are variants too. A retry repeats the variants that did not pass, and a second judgment keeps them.
func TestVariantsOfPrompts(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, key := (&gatewayUnderTest{store: store}).company(t, "Company")
	g := serve(t, address, key)
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "# Hours\n- We open at 8 am."})
	require.NoError(t, err)
	_, err = tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: agent.ID,
		Prompt: new("# Parking\n- Parking is free.")})
	require.NoError(t, err)
	test := func(name, asked, expected string) {
		g.must(t, key, `mutation ($agent: ID!, $name: String!, $asked: String!, $text: String!) {
			createSimulationTest(input: {agentId: $agent, name: $name, scenario: "You ask.", contactSays: [$asked],
				maxTurns: 1, checks: [{expect: {says: {text: $text}}}]}) { agentTest { id } } }`,
			map[string]any{"agent": agent.ID, "name": name, "asked": asked, "text": expected}, &struct{}{})
	}
	test("Hours", "When do you open?", "8 am")
	test("Parking", "Is parking free?", "free")
	both := "# Hours\n- We open at 8 am.\n# Parking\n- Parking is free."
	var started startedVariants
	g.must(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agent.ID, "repeats": 5,
		"concurrency": 1, "stopRepeating": map[string]any{}, "variants": []any{
			map[string]any{"label": "now"}, map[string]any{"label": "before", "promptVersion": 1},
			map[string]any{"label": "both", "prompt": both}}}}, &started)
	id := started.StartAgentTestExecution.Execution.ID
	shown := g.variantsOf(t, key, id).AgentTestExecution
	require.Len(t, shown.Variants, 3)
	passed := func(v shownVariant) (counts []int) {
		for _, test := range v.Tests {
			counts = append(counts, test.Counts.Passed)
		}
		return counts
	}
	require.Equal(t, []int{0, 5}, passed(shown.Variants[0]))
	require.Equal(t, []int{5, 0}, passed(shown.Variants[1]))
	require.Equal(t, []int{5, 5}, passed(shown.Variants[2]))
	require.Equal(t, 1, *shown.Variants[1].PromptVersion)
	require.True(t, shown.Variants[2].IsDraft)
	require.Equal(t, both, *shown.Variants[2].Prompt)
	require.NotNil(t, shown.Variants[1].Conclusion)
	require.NotEqual(t, "Skipped", shown.Variants[2].Tests[0].Runs[4].Status, "the variants of a test stop independently")
	require.Less(t, shown.Variants[0].Tests[0].Counts.Failed, 5, "a failed run ends the repeats of the test")

	// A run has the instructions of its variant.
	var runs struct {
		AgentTestExecution struct {
			Runs struct {
				Nodes []struct {
					Variant       string
					PromptVersion int
					Instructions  *string
					Status        string
				}
			}
		}
	}
	g.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) { runs { nodes { variant promptVersion instructions
		status } } } }`, map[string]any{"id": id}, &runs)
	for _, run := range runs.AgentTestExecution.Runs.Nodes {
		require.Equal(t, map[string]int{"now": 2, "before": 1, "both": 2}[run.Variant], run.PromptVersion)
		if run.Instructions != nil {
			require.Equal(t, run.Variant != "before", strings.Contains(*run.Instructions, "Parking is free."))
			require.Equal(t, run.Variant != "now", strings.Contains(*run.Instructions, "We open at 8 am."))
		}
	}

	var retried struct {
		RetryAgentTestExecution struct{ Execution struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { retryAgentTestExecution(input: {executionId: $id}) { execution { id } } }`,
		map[string]any{"id": id}, &retried)
	again := g.variantsOf(t, key, retried.RetryAgentTestExecution.Execution.ID).AgentTestExecution
	require.Len(t, again.Variants, 3)
	require.Equal(t, []int{0, 0}, passed(again.Variants[0]))
	require.Equal(t, 1, again.Variants[0].Counts.Failed)
	require.Equal(t, 1, again.Variants[1].Counts.Failed)
	require.Zero(t, again.Variants[2].Counts.Total)
	require.Equal(t, "CannotDecide", *again.Variants[2].Conclusion)

	var rejudged struct {
		RejudgeAgentTestExecution struct{ Execution struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { rejudgeAgentTestExecution(input: {executionId: $id}) { execution { id } } }`,
		map[string]any{"id": id}, &rejudged)
	judged := g.variantsOf(t, key, rejudged.RejudgeAgentTestExecution.Execution.ID).AgentTestExecution
	require.Equal(t, []int{5, 0}, passed(judged.Variants[1]))
	require.Equal(t, []int{5, 5}, passed(judged.Variants[2]))
}
