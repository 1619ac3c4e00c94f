package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
)

// lists is an option that sets the list of models: one of the stub server for each format, and one that is unavailable.
func (p *stubServer) lists(o *app.EngineOptions) {
	modelOptions := func(format provider.Format, name, path, fallback string) app.ModelOptions {
		return app.ModelOptions{Name: "my " + name, Fallback: fallback, Prices: model.Prices{Message: model.Credit},
			Config: provider.Config{Format: format, BaseURL: p.url + path, Key: providerKey, Model: name}}
	}
	o.Models = []app.ModelOptions{
		modelOptions(provider.Messages, "claude", "/v1", ""), modelOptions(provider.Contents, "gem", "/v1beta", ""),
		modelOptions(provider.Responses, "responder", "/v1", ""),
		modelOptions(provider.Completions, "away", "/v1", "my claude"),
	}
}

type messageUsage struct {
	Model                     *string
	IsFallback                bool
	InputTokens, OutputTokens int
	FirstTokenMs              *float64
	TookMs, Credits           float64
}

// Each agent speaks through the model that it chooses, whatever the format of its provider.
func TestAgentsChooseModels(t *testing.T) {
	t.Parallel()
	talks := func(name string) []fixture {
		return []fixture{{"match": fixture{}, "response": fixture{"content": "I am " + name + ".",
			"usage": fixture{"prompt_tokens": 31, "completion_tokens": 12}}}}
	}
	server := startProvider(t, map[string][]fixture{
		"default": talks("default"), "claude": talks("claude"), "gem": talks("gem"), "responder": talks("responder"),
		"away": {{"match": fixture{}, "response": fixture{"status": 503, "retryAfter": 0,
			"error": fixture{"message": "Overloaded", "type": "server_error"}}}},
	})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	_, key := g.company(t, "Company")
	s := serve(t, address, key, server.asks("default"), server.lists)

	var listed struct {
		Server struct {
			Model  string
			Models []struct {
				Name, Provider string
				Fallback       *string
				MessagePrice   float64
			}
		}
	}
	s.must(t, key, `{ server { model models { name provider fallback messagePrice } } }`, nil, &listed)
	require.Equal(t, "default", listed.Server.Model)
	require.Len(t, listed.Server.Models, 4)
	require.Equal(t, "my away", listed.Server.Models[0].Name)
	require.Equal(t, "my claude", *listed.Server.Models[0].Fallback)
	require.Equal(t, "anthropic", listed.Server.Models[1].Provider)
	require.InDelta(t, 1, listed.Server.Models[1].MessagePrice, 0)

	create := func(chosen *string) (id string) {
		var made struct {
			CreateAgent struct{ Agent struct{ ID string } }
		}
		s.must(t, key, `mutation ($model: String) { createAgent(input: {name: "Desk", channel: Web, direction: Inbound,
			language: "en", prompt: "Help.", model: $model}) { agent { id } } }`, map[string]any{"model": chosen}, &made)
		return made.CreateAgent.Agent.ID
	}
	talk := func(agentID string) (string, messageUsage) {
		var started struct {
			StartSimulationChat struct{ SimulationChat struct{ ID string } }
		}
		s.must(t, key, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
			map[string]any{"id": agentID}, &started)
		id := map[string]any{"id": started.StartSimulationChat.SimulationChat.ID}
		type message struct {
			Text  string
			Usage *messageUsage
		}
		var said struct {
			SendSimulationMessage struct{ NewMessages []message }
		}
		const fields = `{ text usage { model isFallback inputTokens outputTokens firstTokenMs tookMs credits } }`
		s.must(t, key, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id, text: "Hello"}) {
			newMessages `+fields+` } }`, id, &said)
		// The stored messages have the same usage.
		var stored struct{ SimulationChat struct{ Messages []message } }
		s.must(t, key, `query ($id: ID!) { simulationChat(id: $id) { messages `+fields+` } }`, id, &stored)
		require.Equal(t, said.SendSimulationMessage.NewMessages, stored.SimulationChat.Messages)
		require.Nil(t, stored.SimulationChat.Messages[0].Usage)
		answer := stored.SimulationChat.Messages[1]
		return answer.Text, *answer.Usage
	}
	for chosen, want := range map[string]struct {
		text, by string
		fallback bool
		credits  float64
	}{
		"": {"I am default.", "default", false, 0}, "my claude": {"I am claude.", "my claude", false, 1},
		"my gem": {"I am gem.", "my gem", false, 1}, "my responder": {"I am responder.", "my responder", false, 1},
		"my away": {"I am claude.", "my claude", true, 1},
	} {
		text, used := talk(create(&chosen))
		require.Equal(t, want.text, text, chosen)
		require.Equal(t, want.by, *used.Model)
		require.Equal(t, want.fallback, used.IsFallback, chosen)
		require.Equal(t, []int{31, 12}, []int{used.InputTokens, used.OutputTokens}, chosen)
		require.InDelta(t, want.credits, used.Credits, 0, chosen)
		require.NotNil(t, used.FirstTokenMs)
		require.Positive(t, *used.FirstTokenMs)
		require.LessOrEqual(t, *used.FirstTokenMs, used.TookMs)
	}

	require.Contains(t, s.log.String(), `"msg":"model failed; its fallback answers","model":"my away","fallback":"my claude"`)

	agent := create(new("my gem"))
	refused := s.query(t, key, `mutation ($id: ID!) { updateAgent(input: {agentId: $id, model: "gem"}) { agent { id } } }`,
		map[string]any{"id": agent})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	require.Contains(t, refused.Errors[0].Message, "must be one of my away, my claude, my gem, my responder")
	var copied struct {
		DuplicateAgent struct {
			Agent struct {
				ID    string
				Model *string
			}
		}
	}
	s.must(t, key, `mutation ($id: ID!) { duplicateAgent(input: {agentId: $id, name: "Copy"}) { agent { id model } } }`,
		map[string]any{"id": agent}, &copied)
	require.Equal(t, "my gem", *copied.DuplicateAgent.Agent.Model)
	s.must(t, key, `mutation ($id: ID!) { updateAgent(input: {agentId: $id, model: ""}) { agent { id } } }`,
		map[string]any{"id": agent}, &struct{}{})
	text, _ := talk(agent)
	require.Equal(t, "I am default.", text)

	// Another process no longer lists the model.
	without := serve(t, address, key, server.asks("default"))
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	without.must(t, key, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": copied.DuplicateAgent.Agent.ID}, &started)
	gone := without.query(t, key, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id, text: "Hello"}) {
		newMessages { text } } }`, map[string]any{"id": started.StartSimulationChat.SimulationChat.ID})
	require.Equal(t, []string{"UNPROCESSABLE"}, gone.codes())
	require.Contains(t, gone.Errors[0].Message, `the agent's model "my gem" is not one of this server's models`)
	require.Contains(t, gone.Errors[0].Message, "an empty text for the default")
	require.Regexp(t, `"msg":"turn failed","chat":"[^"]*","model":"my gem"`, without.log.String())
}

// The usage of a run or an execution is the sum over the agent's answers. The contact and the judge do not count.
func TestUsageOfRunsIsSummedUp(t *testing.T) {
	t.Parallel()
	spoken := fixture{"match": fixture{}, "response": fixture{"content": "Which day?",
		"usage": fixture{"prompt_tokens": 100, "completion_tokens": 10}}}
	server := startProvider(t, map[string][]fixture{
		"default": {spoken}, "claude": {spoken},
		"away": {{"match": fixture{}, "response": fixture{"status": 503, "error": fixture{"message": "x", "type": "x"}}}},
	})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Company")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Help.", Model: new("my away")})
	require.NoError(t, err)
	s := serve(t, address, key, server.asks("default"), server.lists)
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	s.must(t, key, `mutation ($agent: ID!) { createSimulationTest(input: {agentId: $agent, name: "Asks", scenario: "You want a visit.",
		contactSays: ["I want a visit.", "On Monday."], maxTurns: 2, checks: [
			{expect: {firstTokenAtMost: 60}}, {expect: {firstTokenAtMost: 0}}]}) { agentTest { id } } }`,
		map[string]any{"agent": agent.ID}, &made)
	type summary struct {
		Answers, Fallbacks                 int
		Models                             []string
		InputTokens, OutputTokens, Credits float64
		FirstTokenMs, TookMs               *struct{ P50, P90, P99, Max float64 }
	}
	var started struct {
		StartAgentTestExecution struct{ Execution struct{ ID string } }
	}
	s.must(t, key, `mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test], repeats: 2}) { execution { id } } }`,
		map[string]any{"test": made.CreateSimulationTest.AgentTest.ID}, &started)
	var got struct {
		AgentTestExecution struct {
			FinishedAt *string
			Usage      summary
			Runs       struct {
				Nodes []struct {
					Usage        summary
					Error        *struct{ Message string }
					CheckResults []struct {
						Passed   bool
						Observed string
					}
					Messages []struct{ Usage *messageUsage }
				}
			}
		}
	}
	const fields = `usage { answers fallbacks models inputTokens outputTokens credits
		firstTokenMs { p50 p90 p99 max } tookMs { p50 p90 p99 max } }`
	require.Eventually(t, func() bool {
		s.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) { finishedAt `+fields+` runs { nodes { `+fields+`
			error { message } checkResults { passed observed } messages { usage { model isFallback inputTokens outputTokens firstTokenMs tookMs credits } } } } } }`,
			map[string]any{"id": started.StartAgentTestExecution.Execution.ID}, &got)
		return got.AgentTestExecution.FinishedAt != nil
	}, 30*time.Second, 50*time.Millisecond)
	whole := got.AgentTestExecution
	require.Len(t, whole.Runs.Nodes, 2)
	slowest := 0.0
	for _, run := range whole.Runs.Nodes {
		require.Nil(t, run.Error)
		require.Equal(t, 2, run.Usage.Answers)
		require.Equal(t, 2, run.Usage.Fallbacks)
		require.Equal(t, []string{"my claude"}, run.Usage.Models)
		require.InDelta(t, 200, run.Usage.InputTokens, 0)
		require.InDelta(t, 20, run.Usage.OutputTokens, 0)
		require.Len(t, run.Messages, 4)
		require.Nil(t, run.Messages[0].Usage)
		first, second := run.Messages[1].Usage, run.Messages[3].Usage
		require.InDelta(t, min(*first.FirstTokenMs, *second.FirstTokenMs), run.Usage.FirstTokenMs.P50, 1e-6)
		require.InDelta(t, max(first.TookMs, second.TookMs), run.Usage.TookMs.P90, 1e-6)
		slowest = max(slowest, run.Usage.TookMs.Max)
		require.True(t, run.CheckResults[0].Passed)
		require.False(t, run.CheckResults[1].Passed)
		require.Regexp(t, `^\d+\.\d{3} s$`, run.CheckResults[1].Observed)
	}
	require.Equal(t, 4, whole.Usage.Answers)
	require.InDelta(t, 400, whole.Usage.InputTokens, 0)
	require.InDelta(t, slowest, whole.Usage.TookMs.P99, 1e-6)
}

// A listed model rewrites questions even if the offline model answers.
func TestListedModelRewritesQuestions(t *testing.T) {
	t.Parallel()
	server := startProvider(t, map[string][]fixture{
		"claude": {says("When does the clinic open?").but("match", fixture{})}})
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Company")
	g := serve(t, address, key, server.lists, func(o *app.EngineOptions) { o.QuestionModel = "my claude" })
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Help."})
	require.NoError(t, err)
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Manuals"})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Hours",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(t.Context(), model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
		ChatID: chat.ID})
	require.NoError(t, err)
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	g.must(t, key, `mutation ($agent: ID!) { startSimulationChat(input: {agentId: $agent}) { simulationChat { id } } }`,
		map[string]any{"agent": agent.ID}, &started)
	for _, text := range []string{"Is the clinic open on Sundays?", "And when?"} {
		g.must(t, key, `mutation ($chat: ID!, $text: String!) { sendSimulationMessage(input: {simulationChatId: $chat,
			text: $text}) { newMessages { text } } }`,
			map[string]any{"chat": started.StartSimulationChat.SimulationChat.ID, "text": text}, &struct{}{})
	}
	require.Len(t, server.asked(t, "claude"), 1, "the first message needs no rewriting")
}

// An agent classifies and extracts with the model that it chooses, in tests, variants and chats.
func TestAgentsClassifyAndExtractWithTheirModels(t *testing.T) {
	t.Parallel()
	// Each answer is a tag and the extracted values at once.
	answers := func(name, tag string) []fixture {
		return []fixture{{"match": fixture{}, "response": fixture{
			"content": `{"rationale":"So it is.","tag":"` + tag + `","answeredBy":"` + name + `"}`}}}
	}
	server := startProvider(t, map[string][]fixture{
		"default": answers("default", "Open"), "claude": answers("claude", "Booked"), "gem": answers("gem", "Lost")})
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Company")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Help.", Model: new("my claude"),
		ClassificationTags: []*model.ClassificationTag{{Name: "Booked"}, {Name: "Lost"}, {Name: "Open"}},
		ExtractedValues:    []*model.ExtractedValue{{Name: "answeredBy", Type: model.ExtractedValueTypeText}}})
	require.NoError(t, err)
	s := serve(t, address, key, server.asks("default"), server.lists)
	ofAgent := map[string]any{"agent": agent.ID}
	s.must(t, key, `mutation ($agent: ID!) {
		createClassificationTest(input: {agentId: $agent, name: "Tag", tagExpected: "Booked",
			conversationContext: {messages: [{role: user, text: "Fine."}]}}) { agentTest { id } }
		createSimulationTest(input: {agentId: $agent, name: "Talk", scenario: "You ask.", contactSays: ["Monday?"],
			maxTurns: 1, checks: [{expect: {tag: "Booked"}},
				{expect: {extracts: {name: "answeredBy", equals: "claude"}}}]}) { agentTest { id } } }`, ofAgent, nil)
	var started startedVariants
	s.must(t, key, startVariants, map[string]any{"input": map[string]any{"agentId": agent.ID, "variants": []any{
		map[string]any{"label": "now"}, map[string]any{"label": "gem", "model": "my gem"}}}}, &started)
	execution := s.variantsOf(t, key, started.StartAgentTestExecution.Execution.ID).AgentTestExecution
	require.Equal(t, 2, execution.Variants[0].Counts.Passed, execution.Variants)
	require.Equal(t, 2, execution.Variants[1].Counts.Failed, execution.Variants)
	var runs struct {
		AgentTestRuns struct {
			Nodes []struct {
				ClassificationResult *struct{ TagProduced string }
				CheckResults         []struct{ Observed string }
			}
		}
	}
	s.must(t, key, `query ($execution: ID!) { agentTestRuns(executionId: $execution) { nodes {
		classificationResult { tagProduced } checkResults { observed } } } }`,
		map[string]any{"execution": started.StartAgentTestExecution.Execution.ID}, &runs)
	seen := []string{}
	for _, run := range runs.AgentTestRuns.Nodes {
		if run.ClassificationResult != nil {
			seen = append(seen, run.ClassificationResult.TagProduced)
		}
		for _, check := range run.CheckResults {
			seen = append(seen, check.Observed)
		}
	}
	require.ElementsMatch(t, []string{"Booked", "Booked", `"claude"`, "Lost", "Lost", `"gem"`}, seen)

	var chat struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	s.must(t, key, `mutation ($agent: ID!) { startSimulationChat(input: {agentId: $agent}) { simulationChat { id } } }`,
		ofAgent, &chat)
	id := map[string]any{"id": chat.StartSimulationChat.SimulationChat.ID}
	s.must(t, key, `mutation ($id: ID!) { endSimulationChat(input: {simulationChatId: $id}) { simulationChat { id } } }`,
		id, nil)
	var ended struct {
		SimulationChat struct{ Extracted map[string]string }
	}
	require.Eventually(t, func() bool {
		s.must(t, key, `query ($id: ID!) { simulationChat(id: $id) { extracted } }`, id, &ended)
		return ended.SimulationChat.Extracted != nil
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, map[string]string{"answeredBy": "claude"}, ended.SimulationChat.Extracted)
	require.Empty(t, server.asked(t, "default"))
}

// A run records the models that judged it: the judge, its fallback, or both.
func TestRunsRecordTheFallbackOfTheirJudge(t *testing.T) {
	t.Parallel()
	verdict := fixture{"match": fixture{}, "response": fixture{
		"content": `{"evidence":[],"rationale":"So it is.","applies":true,"passed":true}`}}
	server := startProvider(t, map[string][]fixture{
		"default": {says("Yes.").but("match", fixture{})}, "claude": {verdict},
		"away": {verdict.but("match", fixture{"sequenceIndex": 0}), {"match": fixture{}, "response": fixture{"status": 503,
			"retryAfter": 0, "error": fixture{"message": "Overloaded", "type": "server_error"}}}},
	})
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Company")
	agent, _ := newAgentWithTest(t, tenant)
	s := serve(t, address, key, server.asks("default"), server.lists,
		func(o *app.EngineOptions) { o.Judge.Model = "my away" })
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	s.must(t, key, `mutation ($agent: ID!) { createSimulationTest(input: {agentId: $agent, name: "Polite", scenario: "You ask.",
		contactSays: ["Do you open?"], maxTurns: 1, criteria: ["Is never rude", "Never insults the contact"]}) {
		agentTest { id } } }`, map[string]any{"agent": agent}, &made)
	var started startedVariants
	s.must(t, key, startVariants, map[string]any{"input": map[string]any{"repeats": 2, "concurrency": 1,
		"testIds": []string{made.CreateSimulationTest.AgentTest.ID}}}, &started)
	var got struct {
		AgentTestExecution struct {
			FinishedAt *string
			Runs       struct {
				Nodes []struct{ Status, JudgeModel string }
			}
		}
	}
	require.Eventually(t, func() bool {
		s.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) { finishedAt runs { nodes { status judgeModel } } } }`,
			map[string]any{"id": started.StartAgentTestExecution.Execution.ID}, &got)
		return got.AgentTestExecution.FinishedAt != nil
	}, time.Minute, 50*time.Millisecond)
	judges := []string{}
	for _, run := range got.AgentTestExecution.Runs.Nodes {
		require.Equal(t, "Passed", run.Status)
		judges = append(judges, run.JudgeModel)
	}
	require.ElementsMatch(t, []string{"my away, my claude", "my claude"}, judges)
}

// A failed turn costs the tokens that it used before the failure, but no message.
func TestFailedTurnsCostTheirTokens(t *testing.T) {
	t.Parallel()
	used := book.but("response", book["response"].(fixture).but("usage",
		fixture{"prompt_tokens": 1000, "completion_tokens": 100}))
	server := startProvider(t, map[string][]fixture{
		"default": {used, refuses(400, "bad_request"), refuses(400, "bad_request"), used, says("Done.")}})
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Company")
	agentID, toolID := frontDesk(t, tenant)
	s := serve(t, address, key, server.asks("default"), func(o *app.EngineOptions) {
		o.Prices = model.Prices{Message: 50 * model.Credit, InputTokens: 2 * model.Credit, OutputTokens: 10 * model.Credit}
	})
	chatID := s.start(t, agentID, mocking{"mockedTools": []mocking{mockedTool(toolID, mocking{"resultTemplate": "Booked"})}})
	credits := func() (spent []model.Credits) {
		for _, entry := range ledger(t, tenant) {
			spent = append(spent, entry.Credits)
		}
		return spent
	}
	require.Equal(t, []string{"UPSTREAM_FAILED"}, s.send(t, chatID, "Monday?").codes())
	require.Equal(t, []model.Credits{3 * model.Credit}, credits())
	require.Equal(t, []string{"UPSTREAM_FAILED"}, s.send(t, chatID, "Monday?").codes())
	require.Len(t, credits(), 1, "no tokens were used")
	s.say(t, chatID, "Monday?")
	require.Len(t, credits(), 2)
	require.Greater(t, credits()[1], 53*model.Credit)
}
