package offline_test

import (
	"testing"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const optedOut = `end_conversation {"reason":"The contact wants no more messages."}`

var parcels = agent{
	prompt: "You wrote to Max because parcel MP88412207GB is due.\n\n# Form\nAt most one emoji per message, and prices " +
		"in pounds.\n\n# What people want\n" +
		"- Another time: call list_delivery_windows.\n- Never ordered it: do not argue. Say that the parcel waits for five " +
		"days, and open a case.\n" +
		"- Never say that a parcel is insured.",
	welcome: "Your parcel comes today. Reply 1 if that suits you, 2 for another time.",
	tools: []llm.Tool{
		offer("list_delivery_windows", "Lists the windows that are free for a parcel.",
			`"trackingNumber":{"type":"string","description":"Tracking number, for example MP00000000GB."}`, "trackingNumber"),
		delegate("returns_desk", "Takes back what was damaged, for orders of Maison Merrowby."),
		delegate("product_help", "Answers questions about a delivered Merrowby Home appliance."),
	},
}

var renewals = agent{
	prompt: "You are calling Max Hart because the plan Family Plus ends in May.\n\n# Aim\nA friendly no is a good " +
		"result.\n\n# Prices\nThe plan costs 240 pounds.",
	welcome: "Hello, this is Jules. Am I speaking with Max Hart?",
	tools: []llm.Tool{
		offer("get_policy", "Returns what a plan covers.",
			`"planName":{"type":"string","description":"Name of the plan."},"lastName":{"type":"string","description":"Last name of the policyholder."}`, "planName", "lastName"),
		offer("confirm_renewal", "Renews a plan.", `"quoteNumber":{"type":"string","description":"Number of the quote."}`,
			"quoteNumber"),
	},
}

func TestAnswersToTheAgentsOwnQuestions(t *testing.T) {
	t.Parallel()
	products := agent{prompt: "You help.", welcome: "Hello. Is it about your kettle? Tell me what it does."}
	returns := agent{prompt: "Tu es Camille.", welcome: "Souhaitez-vous un retour ou un échange ?"}
	for name, test := range map[string]struct {
		agent agent
		steps []step
	}{
		"a number without a tool": {parcels, []step{{"1", nil, []string{"All right: that suits you."}},
			{"no thanks", []string{ended}, nil}}},
		"a yes to the first": {parcels, []step{{"ok", nil, []string{"All right: that suits you."}}}},
		"a number with a tool": {parcels, []step{{"2", []string{`list_delivery_windows {"trackingNumber":"MP88412207GB"}`},
			nil}}},
		"yes and a name": {renewals, []step{{"Yes, this is Max", nil, []string{"Thank you. I am getting in touch " +
			"because the plan Family Plus ends in May."}}}},
		"no":                      {renewals, []step{{"no", nil, []string{"I see. How can I help you?"}}}},
		"what follows a question": {products, []step{{"yes", nil, []string{"Thank you. Tell me what it does."}}}},
		"a yes to alternatives": {returns,
			[]step{{"oui", nil, []string{"Bien. Souhaitez-vous un retour ou un échange ?"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, test.agent, test.steps)
		})
	}
}

func TestDeclinesUnwantedActions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent agent
		steps []step
	}{
		"the same call twice": {cards, []step{
			{"I lost my card", []string{`freeze_card {"cardLastFour":"4821","reason":"lost"}`}, nil},
			{"I lost it in the park", nil, []string{"I did that before. That is done."}},
			{"Freeze my lost card again", []string{`freeze_card {"cardLastFour":"4821","reason":"lost"}`}, nil},
		}},
		"what is turned down": {renewals, []step{
			{"I don't want to renew", nil, []string{"I leave it at that"}},
			{"Renew it", nil, []string{"Could you tell me the number of the quote?"}},
			{"I don't want to renew my plan", nil, []string{"I leave it at that"}},
			{"not interested any more", []string{optedOut}, nil},
		}},
		"a delegation on a word of a name": {parcels, []step{
			{"not home", []string{`list_delivery_windows {"trackingNumber":"MP88412207GB"}`}, nil},
			{"I never ordered this", nil, []string{"“The parcel waits for five days.”"}},
			{"it arrived damaged", []string{`returns_desk {"request":"returns desk. it arrived damaged"}`}, nil},
		}},
		"the name that the instructions tell": {renewals, []step{
			{"I am Sam, what does my plan cover?", []string{`get_policy {"lastName":"Hart","planName":"Family Plus"}`}, nil},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, test.agent, test.steps)
		})
	}
}

func TestEmergenciesGoFirst(t *testing.T) {
	t.Parallel()
	a := reception
	a.prompt = "You are Robin.\n\n# Emergencies come first\nIf the caller mentions chest pain or trouble breathing, " +
		"stop. " +
		"Tell them to hang up and dial 999 now, and end the conversation. Do not ask for details.\n\n# Hours\nOpen from 8 " +
		"to 18."
	hold(t, a, []step{
		{"book an appointment", nil, []string{"the kind of visit"}},
		{"my father is not breathing", nil, []string{"Please hang up and dial 999 now."}},
		{"mon père ne respire plus", nil, []string{"Please hang up and dial 999 now."}},
	})
}

func TestQuotesFactsOnly(t *testing.T) {
	t.Parallel()
	hold(t, parcels, []step{
		{"What are the prices in pounds?", nil, []string{"I am sorry, I do not know what to say to that."}},
		{"Are you insured?", nil, []string{"I am sorry, I do not know what to say to that."}},
	})
	hold(t, renewals, []step{
		{"What is a good result?", nil, []string{"I am sorry, I do not know what to say to that."}},
		{"What does the plan cost?", nil, []string{"“The plan costs 240 pounds.”"}},
	})
}

func TestAsksForArgumentsWithoutLettersInTheirNames(t *testing.T) {
	t.Parallel()
	hold(t, agent{prompt: "You are Kim.",
		tools: []llm.Tool{offer("open_gate", "Opens the gate.", `"_":{"type":"string","description":"Which gate it is."}`,
			"_")}}, []step{
		{"Open the gate", nil, []string{"Could you tell me which gate it is?"}},
		{"the northern", []string{`open_gate {"_":"the northern"}`}, nil},
	})
}
