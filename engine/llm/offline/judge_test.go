package offline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// judged is a transcript with everything that the forms look at.
const judged = `{"messages":[
	{"messageIndex":0,"speaker":"agent","isGiven":true,"text":"Your refund is approved."},
	{"messageIndex":1,"speaker":"contact","text":"Hello, may I have a discount?"},
	{"messageIndex":2,"speaker":"agent","text":"It’s on  Monday,\nyesterday I said “no”. Ça va: déjà vu.","calls":[
		{"name":"book_slot","arguments":{"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true},"result":"ok"},
		{"name":"transfer_call","arguments":{"reason":"asked"},"error":"nobody is there"}]},
	{"messageIndex":3,"speaker":"contact","text":"Fine"},
	{"messageIndex":4,"speaker":"agent","text":"Goodbye.","calls":[{"name":"find_slots","arguments":{},"within":"ask_expert","result":"none"}]}
],"ending":{"by":"agent","reason":"Done"}}`

const elsewhere = `{"messages":[
	{"messageIndex":0,"speaker":"contact","text":"A human, please"},
	{"messageIndex":1,"speaker":"agent","text":"One moment.","calls":[{"name":"transfer_call","arguments":{"reason":"asked"},"result":"ok"}]}
],"ending":{"by":"limit","reason":"The limit was reached."}}`

type given struct {
	Evidence []struct {
		MessageIndex int
		Quote        string
	}
	Rationale string
	Passed    bool
}

func judge(t *testing.T, transcript, criterion string) (given, error) {
	t.Helper()
	asked, err := json.Marshal(map[string]any{"transcript": json.RawMessage(transcript), "criterion": criterion})
	require.NoError(t, err)
	answer, err := llm.Collect(offline.Judge().Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: string(asked)}}}))
	var verdict given
	if err == nil {
		require.NoError(t, json.Unmarshal([]byte(answer.Text), &verdict))
		require.NotEmpty(t, verdict.Rationale)
		require.NotNil(t, verdict.Evidence)
	}
	return verdict, err
}

func TestJudgeDecidesTheFormsThatItKnows(t *testing.T) {
	t.Parallel()
	for criterion, want := range map[string]struct {
		passed bool
		quotes []string
	}{
		`says "monday"`:                      {true, []string{"Monday"}},
		`The agent says “on monday”.`:        {true, []string{"on  Monday"}},
		`says "it's on monday, yesterday"`:   {true, []string{"It’s on  Monday,\nyesterday"}},
		`SAYS « DÉJÀ VU »`:                   {true, []string{"déjà vu"}},
		`says "day"`:                         {false, nil},
		`says "discount"`:                    {false, nil},
		`says "refund"`:                      {false, nil},
		`says "on Tuesday, yesterday"`:       {false, []string{"yesterday I said “no”."}},
		`says "It is Monday"`:                {false, []string{"It’s on  Monday,"}},
		`says "a table for Tuesday evening"`: {false, nil},
		`never says "refund"`:                {true, nil},
		`never says "goodbye"`:               {false, []string{"Goodbye"}},
		`Never says "discount"`:              {true, nil},
		`calls book_slot`:                    {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`Calls FIND_SLOTS`:                   {true, []string{"find_slots {}"}},
		`calls cancel_slot`:                  {false, nil},
		`calls book_slot with day = monday`:  {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with Day="Monday"`:  {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with seats = 2`:     {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with vip = TRUE.`:   {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with who.name=ana`:  {true, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with day = Mon`:     {false, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with hour = 9`:      {false, []string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls cancel_slot with day = Mon`:   {false, nil},
		`does not call cancel_slot`:          {true, nil},
		`The agent does not call find_slots`: {false, []string{"find_slots {}"}},
		`transfers the call`:                 {false, []string{`transfer_call {"reason":"asked"}`}},
		`Ends the conversation.`:             {true, []string{"Goodbye."}},
	} {
		t.Run(criterion, func(t *testing.T) {
			t.Parallel()
			verdict, err := judge(t, judged, criterion)
			require.NoError(t, err)
			require.Equal(t, want.passed, verdict.Passed, verdict.Rationale)
			var quotes []string
			for _, e := range verdict.Evidence {
				quotes = append(quotes, e.Quote)
			}
			require.Empty(t, cmp.Diff(want.quotes, quotes))
		})
	}
	for criterion, want := range map[string]bool{`transfers the call`: true, `ends the conversation`: false, `says "moment"`: true} {
		verdict, err := judge(t, elsewhere, criterion)
		require.NoError(t, err)
		require.Equal(t, want, verdict.Passed, criterion)
		require.Len(t, verdict.Evidence, 1, criterion)
	}
}

func TestJudgeQuotesNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(strings.Repeat("é ", 2_000))
	require.NoError(t, err)
	transcript := `{"messages":[{"messageIndex":0,"speaker":"agent","text":` + string(long) + `},
		{"messageIndex":1,"speaker":"contact","text":"…"}],"ending":{"by":"contact"}}`
	verdict, err := judge(t, transcript, "ends the conversation")
	require.NoError(t, err)
	require.Len(t, verdict.Evidence, 1)
	require.Zero(t, verdict.Evidence[0].MessageIndex)
	require.Equal(t, strings.Repeat("é ", 500), verdict.Evidence[0].Quote)
	verdict, err = judge(t, `{"messages":[],"ending":{"by":"limit"}}`, "ends the conversation")
	require.NoError(t, err)
	require.Empty(t, verdict.Evidence)
}

func TestJudgeRefusesEveryOtherCriterion(t *testing.T) {
	t.Parallel()
	for _, criterion := range []string{
		"Is polite", `says "a" or "b"`, `says Monday`, `says ""`, `always says "x"`, `calls the customer by name`,
		`calls book_slot twice`, `does not call book_slot with day = Monday`, `transfers the call to sales`,
		`does not end the conversation`, `never calls book_slot`, `calls book_slot with day`, "calls a-b", "",
	} {
		_, err := judge(t, judged, criterion)
		var failure *llm.Error
		require.ErrorAs(t, err, &failure, criterion)
		require.Equal(t, llm.Rejected, failure.Cause)
		require.False(t, failure.Retryable())
		require.Contains(t, failure.Message, "language model")
	}
}

func TestPartsOnlyDoTheirPart(t *testing.T) {
	t.Parallel()
	for _, model := range []llm.Model{offline.Judge(), offline.Contact(), offline.Classifier()} {
		require.Contains(t, model.Name(), "offline-")
		_, err := llm.Collect(model.Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}))
		require.ErrorContains(t, err, model.Name()+": it only")

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = llm.Collect(model.Chat(ended, llm.Request{}))
		require.ErrorIs(t, err, context.Canceled)
	}
}
