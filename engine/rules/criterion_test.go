package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// judged is a conversation that contains something for every form of criterion.
func judged() *rules.Conversation {
	made := func(at int32, name, arguments string, failure *string) *model.ToolCall {
		return &model.ToolCall{TechnicalName: name, Arguments: model.JSONObject(arguments), MessageSequence: at - 1,
			Error: failure}
	}
	return rules.NewConversation(&model.AgentTestRun{
		Messages: []model.TestMessage{
			{Role: model.MessageRoleAssistant, Text: "Your refund is approved."},
			{Role: model.MessageRoleUser, Text: "Hello, may I have a discount?"},
			{Role: model.MessageRoleAssistant, Text: "It’s on  Monday,\nyesterday I said “no”. Ça va: déjà vu."},
			{Role: model.MessageRoleUser, Text: "Fine"},
			{Role: model.MessageRoleAssistant, Text: "Goodbye."},
		},
		ToolCalls: []*model.ToolCall{
			made(2, "book_slot", `{"day": "Monday","seats":2,"who":{"name": "Ana"},"vip":true}`, nil),
			made(2, "transfer_call", `{"reason":"asked"}`, new("nobody is there")),
			made(4, "find_slots", "", nil),
		},
	}, 1, rules.Agent)
}

// elsewhere is a conversation that the agent ended by a transfer.
func elsewhere() *rules.Conversation {
	return rules.NewConversation(&model.AgentTestRun{
		Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "A human, please"},
			{Role: model.MessageRoleAssistant, Text: "One moment."}},
		ToolCalls: []*model.ToolCall{{TechnicalName: "transfer_call", Arguments: model.JSONObject(`{"reason":"asked"}`)}},
	}, 0, rules.Limit)
}

func judge(t *testing.T, c *rules.Conversation, criterion string) *model.CriterionResult {
	t.Helper()
	verdict := rules.Decide(c, criterion)
	require.NotNil(t, verdict, criterion)
	require.NotEmpty(t, verdict.Rationale)
	require.NotNil(t, verdict.Evidence)
	require.True(t, verdict.ByProgram)
	return verdict
}

func TestCriteriaOfKnownFormsAreDecided(t *testing.T) {
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
		`calls book_slot`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`Calls FIND_SLOTS`:  {true, []string{"find_slots {}"}},
		`calls cancel_slot`: {false, nil},
		`calls book_slot with day = monday`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with Day="Monday"`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with seats = 2`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with vip = TRUE.`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with who.name=ana`: {true,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with day = Mon`: {false,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls book_slot with hour = 9`: {false,
			[]string{`book_slot {"day":"Monday","seats":2,"who":{"name":"Ana"},"vip":true}`}},
		`calls cancel_slot with day = Mon`:   {false, nil},
		`does not call cancel_slot`:          {true, nil},
		`The agent does not call find_slots`: {false, []string{"find_slots {}"}},
		`transfers the call`:                 {false, []string{`transfer_call {"reason":"asked"}`}},
		`Ends the conversation.`:             {true, []string{"Goodbye."}},
	} {
		t.Run(criterion, func(t *testing.T) {
			t.Parallel()
			verdict := judge(t, judged(), criterion)
			require.Equal(t, want.passed, verdict.Passed, verdict.Rationale)
			var quotes []string
			for _, e := range verdict.Evidence {
				quotes = append(quotes, e.Quote)
			}
			require.Empty(t, cmp.Diff(want.quotes, quotes))
		})
	}
	for criterion, want := range map[string]bool{`transfers the call`: true, `ends the conversation`: false,
		`says "moment"`: true} {
		verdict := judge(t, elsewhere(), criterion)
		require.Equal(t, want, verdict.Passed, criterion)
		require.Len(t, verdict.Evidence, 1, criterion)
	}
}

func TestQuotesOfVerdictsAreBounded(t *testing.T) {
	t.Parallel()
	long := &model.AgentTestRun{Messages: []model.TestMessage{
		{Role: model.MessageRoleAssistant, Text: strings.Repeat("é ", 2_000)}, {Role: model.MessageRoleUser, Text: "…"},
	}}
	verdict := judge(t, rules.NewConversation(long, 0, rules.Contact), "ends the conversation")
	require.Len(t, verdict.Evidence, 1)
	require.Zero(t, verdict.Evidence[0].MessageIndex)
	require.Equal(t, strings.Repeat("é ", 500), verdict.Evidence[0].Quote)
	require.Empty(t, judge(t, rules.NewConversation(&model.AgentTestRun{}, 0, rules.Limit), "ends the conversation").
		Evidence)
}

func TestCriteriaAreDecidedInManyWordings(t *testing.T) {
	t.Parallel()
	for want, criteria := range map[bool][]string{
		true: {
			"uses `book_slot`", "The assistant invokes the book_slot function exactly once", `book_slot(day="Monday", seats=2)`,
			`calls book_slot with {"seats": 2}`, "calls book_slot, then find_slots", "find_slots is called after book_slot",
			"book_slot → find_slots", `neither says "sorry" nor calls cancel_slot`,
			`must not call cancel_slot or say "sorry"`, `does not call cancel_slot without calling book_slot`,
			`the word "refund" is never used`, `the last message contains "goodbye"`, `says "Monday" or "Tuesday"`,
			"L'agent n'appelle pas cancel_slot", "book_slot ne doit être appelé qu'une seule fois",
			"Met fin à l'appel", "Der Agent ruft book_slot genau einmal auf", "sagt weder „ja“ noch „nein“",
			"prima chiama book_slot e poi find_slots", "nunca llama a cancel_slot antes de book_slot",
			"De agent mag cancel_slot niet aanroepen", "não transfere a chamada", "nie mówi „przepraszam”",
			"never calls find_slots after calling cancel_slot", "säger aldrig \"tyvärr\"", "не говорит «извините»", "「申し訳ありません」と言わない", "调用book_slot恰好一次",
		},
		false: {
			"calls book_slot after calling cancel_slot", "never calls book_slot before cancel_slot",
			"never calls find_slots after calling book_slot", "calls book_slot twice", "book_slot is called with seats 3", "calls find_slots before book_slot",
			"calls book_slot and cancel_slot", `says "sorry" and is very polite`, "calls cancel_slot politely",
			`neither says "sorry" nor calls find_slots`, `must not call cancel_slot or say "goodbye"`,
			`the first message of the agent contains "goodbye"`, "calls no tools", "hands the caller over to a human",
			"n'appelle ni cancel_slot ni book_slot", "L'appel est transféré à un conseiller",
			"book_slot wird nicht aufgerufen, bevor cancel_slot aufgerufen wurde", "legt nicht auf",
			"transfiere la llamada a una persona", "roept cancel_slot precies één keer aan",
			"Non chiama find_slots prima di cancel_slot", "chama cancel_slot exatamente duas vezes",
			"wywołuje cancel_slot", "转接给人工",
		},
	} {
		for _, criterion := range criteria {
			verdict := judge(t, judged(), criterion)
			require.Equal(t, want, verdict.Passed, "%s: %s", criterion, verdict.Rationale)
		}
	}
}

func TestOtherCriteriaAreLeftToAModel(t *testing.T) {
	t.Parallel()
	for _, criterion := range []string{
		"Is polite", `says Monday`, `says ""`, `always says "no"`, `calls the customer by name`, `says something like "no"`,
		`transfers the call to sales if the contact asks`, `calls book_slot with day`, "calls a-b", "",
		`calls book_slot politely`, `calls book_slot before cancel_slot`, `says "no" in a friendly way`,
		// The unknown word "politely" is in one of two parts, or in a negated part.
		"calls book_slot politely and calls find_slots", "never calls cancel_slot politely",
		// The reading depends on the language.
		"no book_slot",
	} {
		require.Nil(t, rules.Decide(judged(), criterion), criterion)
	}
}

// repeated is a conversation in which the agent calls one tool before and after another, and says some texts several
// times.
func repeated() *rules.Conversation {
	said := func(role model.MessageRole, text string) model.TestMessage {
		return model.TestMessage{Role: role, Text: text}
	}
	made := func(name, arguments string) *model.ToolCall {
		return &model.ToolCall{TechnicalName: name, Arguments: model.JSONObject(arguments)}
	}
	return rules.NewConversation(&model.AgentTestRun{
		Messages: []model.TestMessage{
			said(model.MessageRoleUser, "Hello"),
			said(model.MessageRoleAssistant, "First the name, then the date."+strings.Repeat(" Certainly.", 11)),
			said(model.MessageRoleUser, "Bye"), said(model.MessageRoleAssistant, "Goodbye."),
		},
		ToolCalls: []*model.ToolCall{made("find_slots", `{}`),
			made("book_slot", `{"from":{"name":"Ana"},"to":{"name":"Bo"}}`), made("find_slots", `{}`)},
	}, 0, rules.Agent)
}

// "Before" compares the first events. "After" and "then" accept a later repetition. Quotes in one message have an
// order.
func TestClaimsAboutOrderAreDecided(t *testing.T) {
	t.Parallel()
	for criterion, want := range map[string]bool{
		"calls find_slots before book_slot":                true,
		"calls find_slots after book_slot":                 true,
		"calls book_slot, then find_slots":                 true,
		"calls book_slot before calling a tool":            false,
		`says "name" before saying "date"`:                 true,
		`says "date" before saying "name"`:                 false,
		`says "date" after "name"`:                         true,
		`says "name", then "date"`:                         true,
		`says "name", then "name"`:                         false,
		`says "name" before it calls find_slots`:           false,
		`says "certainly" before it ends the conversation`: true,
	} {
		verdict := judge(t, repeated(), criterion)
		require.Equal(t, want, verdict.Passed, "%s: %s", criterion, verdict.Rationale)
	}
}

func TestCountsAndMembersOfArgumentsAreCompared(t *testing.T) {
	t.Parallel()
	for criterion, want := range map[string]bool{
		"calls find_slots more than once":      true,
		"calls find_slots more than twice":     false,
		"calls find_slots fewer than 2 times":  false,
		"calls find_slots fewer than 3 times":  true,
		"calls cancel_slot fewer than 2 times": true,
		"calls book_slot with to.name = Bo":    true,
		"calls book_slot with to.name = Ana":   false,
	} {
		verdict := judge(t, repeated(), criterion)
		require.Equal(t, want, verdict.Passed, "%s: %s", criterion, verdict.Rationale)
	}
}

// However often something happens, a verdict has a bounded number of quotes.
func TestEvidenceOfVerdictsIsBounded(t *testing.T) {
	t.Parallel()
	for _, criterion := range []string{
		`says "certainly"`, `never says "certainly"`, `says "certainly" and says "goodbye"`,
	} {
		require.Len(t, judge(t, repeated(), criterion).Evidence, rules.MaxEvidence, criterion)
	}
}

// Words that restrict or count what several quotations or names say are never ignored.
func TestRestrictedCriteriaAreLeftToTheJudge(t *testing.T) {
	t.Parallel()
	c := rules.NewConversation(&model.AgentTestRun{
		Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Hello"},
			{Role: model.MessageRoleAssistant, Text: "Your parcel is in Bern, at the depot."}},
		ToolCalls: []*model.ToolCall{{TechnicalName: "track_parcel", Arguments: model.JSONObject(`{}`)}},
	}, 0, rules.Contact)
	c.Targets = []rules.Target{{Name: "track_parcel"}, {Name: "redirect_parcel"}}
	for _, criterion := range []string{
		`starts with "Bern"`, `the answer starts with "Bern"`, `starts its answer with "Bern"`, `begins with "Bern"`,
		`starts the conversation with "Bern"`, `ends with "Bern"`, `startet mit „Bern“`, `commence par « Bern »`,
		`says exactly "Bern"`, `sagt genau „Bern“`, `dit exactement « Bern »`, `dice exactamente "Bern"`,
		`no words but "Bern" are said`, `nothing but "Bern" is said`, `says nothing other than "Bern"`,
		`sagt nichts als „Bern“`, `says "Bern" to a manager`, `sagt einem Mitarbeiter „Bern“`,
		`says at most one of "Bern", "parcel"`, `sagt höchstens eines von „Bern“, „parcel“`,
		`in the first message, the agent says "Bern"`, `says "Bern" as the first word`, `the last word is "depot"`,
		`says "parcel" 1-2 times`, `says "station" once or twice`,
		`says at least one of "depot" and "station"`, `mentions any of "depot", "station"`,
		`does not say both "depot" and "station"`, `not both "depot" and "station" are said`,
		`mindestens eines von „depot“, „station“ wird gesagt`, `eines von „depot“, „station“ wird gesagt`,
		`au moins un de « depot » et « station » est dit`, `al menos uno de "depot" y "station" se dice`,
		`ne dit pas à la fois « depot » et « station »`, `says one of "depot", "station"`,
		`says some of the words "depot", "station"`, `exactly one of "depot" and "station" is said`,
		`at most one of "Bern" and "Basel" is said`, `at least one of track_parcel and redirect_parcel is called`,
		`exactly one of track_parcel and redirect_parcel is called`, `says "station" and "train" or "depot"`,
		`calls redirect_parcel or says "train" and says "depot"`, `does not say "station" but "depot"`,
		`calls nothing but track_parcel`, `calls no tool but track_parcel`, `calls anything but track_parcel`,
		`calls exactly track_parcel`, `calls track_parcel 1-2 times`, `calls track_parcel 1–3 times`,
		`ruft track_parcel 1-2 Mal auf`, `does not call redirect_parcel 1-2 times`,
		`calls redirect_parcel 0 to 2 times`, `calls track_parcel with no arguments`,
		`calls track_parcel without arguments`, `calls track_parcel successfully`,
		`appelle track_parcel une à deux fois`, `llama a track_parcel de una a dos veces`,
		`says "Bern" and "parcel" in its last message`, `the first message contains "Bern" and "parcel"`,
		`sagt „Bern“ oder „train“ in der letzten Nachricht`, `calls track_parcel, not before saying "Bern"`,
		`calls a tool other than redirect_parcel or track_parcel`, `sagt etwas anderes als „train“ oder „Bern“`,
		`calls a tool other than redirect_parcel, transfer_call or track_parcel`,
	} {
		require.Nil(t, rules.Decide(c, criterion), criterion)
	}
	for criterion, want := range map[string]bool{
		`says either "depot" or "station"`: true, `says both "depot" and "Bern"`: true, `says none of "bus", "train"`: true,
		`never says any of "bus", "depot"`: false, `calls track_parcel, but says "Bern"`: true,
		`calls track_parcel. Says "station" or "Bern".`: true, `starts track_parcel`: true, `starts redirect_parcel`: false,
		`never calls transfer_call or track_parcel`: false, `ruft nie end_conversation oder track_parcel auf`: false,
		`never calls end_conversation or redirect_parcel`: true, `calls transfer_call or track_parcel`: true,
		`says exactly "train"`: false, `says the words "Bern" and "depot"`: true,
	} {
		require.Equal(t, want, judge(t, c, criterion).Passed, criterion)
	}
}

func TestRangesInVerdictsAreWhole(t *testing.T) {
	t.Parallel()
	require.Contains(t, judge(t, judged(), "calls book_slot with seats = 1–3").Rationale, "but never with seats = 1–3.")
}

func TestConditionsOfCriteriaAreKept(t *testing.T) {
	t.Parallel()
	for _, criterion := range []string{
		"The agent is friendly", "The assistant gives the opening hours", "Der Agent ist freundlich",
		"L'agent reste poli", "El agente es amable", "L'agente è gentile", "De agent is vriendelijk", "O agente é educado",
		"Агент вежлив",
	} {
		require.True(t, rules.IsUnconditional(criterion), criterion)
	}
	for _, criterion := range []string{
		"If the contact asks for a price, the agent names it", "The agent names the price when asked",
		"The agent, asked about prices, names one", "The agent stays calm unless it is insulted",
		"The agent gives prices on request", "The agent apologizes after a complaint",
		"The agent answers any question about prices",
		"Asked about prices, the agent names one", "Is kind", "Fragt der Kontakt nach Preisen, nennt der Agent sie",
		"Der Agent nennt Preise auf Nachfrage", "Der Agent bleibt ruhig, falls er beleidigt wird",
		"L'agent donne le prix si on le demande", "El agente da el precio cuando se lo piden",
		"L'agente si scusa se sbaglia", "De agent noemt de prijs als ernaar gevraagd wordt",
		"Agent podaje cenę, jeśli klient pyta", "Агент называет цену, если спросят", "Müşteri sorarsa temsilci fiyatı söyler",
		"顧客が尋ねた場合、エージェントは価格を伝える", "如果客户询问，客服会说明价格", "",
	} {
		require.False(t, rules.IsUnconditional(criterion), criterion)
	}
}
