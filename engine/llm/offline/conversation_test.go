package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// step is a message of the contact, the calls that it leads to, as "name arguments", and parts of the reply.
type step struct {
	said  string
	calls []string
	reply []string
}

// agent is who answers in a conversation. results are the results of its tools. Other calls succeed.
type agent struct {
	prompt  string
	welcome string
	tools   []llm.Tool
	results map[string]string
}

func offer(name, description, properties string, required ...string) llm.Tool {
	if required == nil {
		required = []string{}
	}
	names, _ := json.Marshal(required)
	return llm.Tool{Name: name, Description: description, Parameters: json.RawMessage(
		`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`)}
}

// delegate offers a sub-agent as the engine does.
func delegate(name, description string) llm.Tool {
	return llm.Tool{Name: name, Description: description, Parameters: json.RawMessage(
		`{"type":"object","properties":{"request":{"type":"string",` +
			`"description":"What is asked of it, with everything that it has to know: it does not see this conversation."}},` +
			`"required":["request"],"additionalProperties":false}`)}
}

// hold leads the conversation step by step, as the engine would.
func hold(t *testing.T, a agent, steps []step) {
	t.Helper()
	var messages []llm.Message
	if a.welcome != "" {
		messages = append(messages, assistant(a.welcome))
	}
	for _, step := range steps {
		messages = append(messages, user(step.said))
		var made []string
		var said strings.Builder
		for range 8 {
			answer, err := llm.Collect(offline.New().
				Chat(t.Context(), llm.Request{System: a.prompt, Messages: messages, Tools: append(a.tools,
					llm.Tool{Name: llm.EndConversation})}))
			require.NoError(t, err)
			require.NotEmpty(t, answer.Text+fmt.Sprint(answer.ToolCalls))
			said.WriteString(answer.Text)
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: answer.Text, ToolCalls: answer.ToolCalls})
			for _, call := range answer.ToolCalls {
				made = append(made, call.Name+" "+call.Arguments)
				result, ok := a.results[call.Name]
				if !ok {
					result = fmt.Sprintf(`{"status":"success","message":"The call to %s succeeded."}`, call.Name)
				}
				messages = append(messages, llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Text: result})
			}
			if len(answer.ToolCalls) == 0 || answer.ToolCalls[0].Name == llm.EndConversation {
				break
			}
		}
		require.Equal(t, step.calls, made, "calls after %q, with the reply %q", step.said, said.String())
		for _, part := range step.reply {
			require.Contains(t, said.String(), part, "after %q", step.said)
		}
	}
}

const (
	ended         = `end_conversation {"reason":"The contact said goodbye."}`
	endedInFrench = `end_conversation {"reason":"Le contact a dit au revoir."}`
)

var reception = agent{
	prompt: "You are the receptionist. Today is 2026-10-10. The caller's number is +12025550143.\n\n# Emergencies come " +
		"first\n" +
		"If the caller mentions chest pain, stop. Tell them to dial 999 now.\n\n# Facts\nAppointments can be cancelled " +
		"free of charge up to 24 hours before.",
	tools: []llm.Tool{
		offer("find_free_slots", "Lists free appointments of the clinic, earliest first. Call it before you offer any time.",
			`"visitType":{"type":"string","description":"Kind of visit.","enum":["general","blood_test"]},"from":{"type":"string","format":"date","description":"First day to look at."}`,
			"visitType", "from"),
		offer("book_appointment", "Books one of the slots that find_free_slots returned. Call it only after a clear yes.",
			`"slotId":{"type":"string","description":"Identifier of the slot as returned by find_free_slots."},"patientName":{"type":"string","description":"Full name of the patient."},`+
				`"dateOfBirth":{"type":"string","format":"date","description":"Date of birth of the patient."},"reason":{"type":"string","description":"The reason in the caller's words."}`,
			"slotId", "patientName", "dateOfBirth", "reason"),
		offer("schedule_callback", "Books a call from a colleague at a time that suits the contact.",
			`"phoneNumber":{"type":"string","description":"Number to call, in international form."},"startsAt":{"type":"string","format":"date-time","description":"Wanted time."},"reason":{"type":"string","description":"One sentence."}`,
			"phoneNumber", "startsAt", "reason"),
	},
	results: map[string]string{
		"find_free_slots":  `{"slots":[{"slotId":"S-19","day":"Tuesday","at":"09:20"},{"slotId":"S-22","day":"Wednesday","at":"15:00"}]}`,
		"book_appointment": `{"reference":"B-7731","status":"success"}`,
	},
}

var cards = agent{
	prompt: "You are the card assistant. On file: card ending in 4821.",
	tools: []llm.Tool{
		offer("verify_cardholder", "Compares two answers of the caller with the records.",
			`"cardLastFour":{"type":"string","pattern":"^[0-9]{4}$","description":"Last four digits of the card."},"dateOfBirth":{"type":"string","format":"date","description":"Date of birth that the caller gave."},`+
				`"postcode":{"type":"string","description":"Postcode that the caller gave."}`, "cardLastFour"),
		offer("freeze_card", "Stops every new payment with the card at once.",
			`"cardLastFour":{"type":"string","pattern":"^[0-9]{4}$","description":"Last four digits of the card."},"reason":{"type":"string","description":"Why it is frozen.","enum":["lost","stolen","customer_wish"]}`,
			"cardLastFour", "reason"),
		delegate("card_delivery", "Follows a replacement card on its way. Delegate when the caller asks where the new card "+
			"is."),
		{Name: llm.TransferCall},
	},
	results: map[string]string{
		"card_delivery":  "Could you tell me the tracking number?",
		llm.TransferCall: "No telephony provider is configured.",
	},
}

func TestEachTradeHoldsAConversation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent agent
		steps []step
	}{
		"clinic: options, a yes, a result": {reception, []step{
			{"Good morning", nil, []string{"How can I help you?"}},
			{"I'd like to book an appointment for my sore knee", nil, []string{"I can help with that. Could you tell me the " +
				"kind of visit: general or blood test?"}},
			{"a general one", nil, []string{"Could you tell me the first day to look at?"}},
			{"next Tuesday", []string{`find_free_slots {"from":"2026-10-13","visitType":"general"}`},
				[]string{"1) day Tuesday, at 09:20\n2) day Wednesday, at 15:00\n", "Which one would you like?"}},
			{"the second one please", nil, []string{"What is your full name?"}},
			{"My name is Ana Silva", nil, []string{"What is your date of birth?"}},
			{"12 May 1988", nil, []string{"day Wednesday, at 15:00, patient name Ana Silva, date of birth 12 May 1988. Shall " +
				"I go ahead?"}},
			{"yes please", []string{
				`book_appointment {"dateOfBirth":"1988-05-12","patientName":"Ana Silva","reason":"I'd like to book an appointment for my sore knee","slotId":"S-22"}`}, []string{"That is done. Reference B-7731."}},
			{"No, thank you", []string{ended}, []string{"Goodbye!"}},
		}},
		"clinic: an emergency and a callback": {reception, []step{
			{"I have chest pain", nil, []string{"dial 999 now"}},
			{"Call me back tomorrow at 14:30, it is about my results",
				[]string{`schedule_callback {"phoneNumber":"+12025550143","reason":"Call me back tomorrow at 14:30, it is about my results","startsAt":"2026-10-11T14:30:00Z"}`}, nil},
			{"Can I speak to a human?", nil, []string{"I cannot put you through to anybody from here. Shall I have a " +
				"colleague call you back?"}},
			{"bye", []string{ended}, nil},
		}},
		"bank: at once, transfer, delegation": {cards, []step{
			{"Hello, my card was stolen!", []string{`freeze_card {"cardLastFour":"4821","reason":"stolen"}`},
				[]string{"Hello!", "That is done."}},
			{"I want to speak to a human",
				[]string{`transfer_call {"reason":"The contact asks for a human: I want to speak to a human"}`},
				[]string{"I could not put you through: No telephony provider is configured."}},
			{"Where is my new card?", []string{`card_delivery {"request":"card delivery. Where is my new card?"}`},
				[]string{"Could you tell me the tracking number?"}},
			{"MP88412207GB", []string{
				`card_delivery {"request":"card delivery. Where is my new card?\nCould you tell me the tracking number? MP88412207GB"}`}, nil},
			{"that's all", []string{ended}, nil},
		}},
		"bank in French": {cards, []step{
			{"Bonjour, j'ai perdu ma carte", []string{`freeze_card {"cardLastFour":"4821","reason":"lost"}`},
				[]string{"Bonjour !", "C’est fait."}},
			{"merci", nil, []string{"Je vous en prie."}},
			{"non merci", []string{endedInFrench}, []string{"Au revoir !"}},
		}},
		"parcels: a number of the menu, a tracking number": {agent{
			prompt: "You wrote because parcel MP88412207GB is due.\n\n- Another time: call list_delivery_windows.",
			tools: []llm.Tool{
				offer("track_parcel", "Returns the last known stop of a parcel.",
					`"trackingNumber":{"type":"string","description":"Tracking number, for example MP00000000GB."}`, "trackingNumber"),
				offer("list_delivery_windows", "Lists the windows that are free for a parcel.",
					`"trackingNumber":{"type":"string","description":"Tracking number, for example MP00000000GB."}`, "trackingNumber"),
				offer("set_safe_place", "Tells the driver where to leave the parcel.",
					`"trackingNumber":{"type":"string","description":"Tracking number, for example MP00000000GB."},"kind":{"type":"string","enum":["porch","shed","neighbour"],"description":"Kind of place."}`, "trackingNumber", "kind"),
			},
		}, []step{
			{"hi", nil, nil},
			{"where is my parcel", []string{`track_parcel {"trackingNumber":"MP88412207GB"}`}, nil},
			{"leave it in a safe place", nil, []string{"Could you tell me the kind of place: porch, shed or neighbour?"}},
			{"the shed", []string{`set_safe_place {"kind":"shed","trackingNumber":"MP88412207GB"}`}, nil},
			{"STOP", []string{`end_conversation {"reason":"The contact wants no more messages."}`}, nil},
		}},
		"appliances: an error, and again": {agent{
			prompt: "You are the help assistant.",
			tools: []llm.Tool{offer("run_device_diagnostics", "Asks a connected product for its state. Needs the visitor's "+
				"consent.",
				`"serialNumber":{"type":"string","pattern":"^MH-[A-Z0-9]{8}$","description":"Serial number of the product."},"consent":{"type":"boolean","const":true,"description":"Whether the visitor agreed."}`,
				"serialNumber", "consent")},
			results: map[string]string{"run_device_diagnostics": `{"error":"Timeout","message":"the device did not answer"}`},
		}, []step{
			{"Can you run a diagnostic of my kettle?", nil, []string{"Could you tell me the serial number of the product?"}},
			{"mh-k72b40qx", nil, []string{"Could you tell me whether the visitor agreed?"}},
			{"yes", []string{`run_device_diagnostics {"consent":true,"serialNumber":"MH-K72B40QX"}`},
				[]string{"did not work: Timeout: the device did not answer.", "try again"}},
			{"try again", []string{`run_device_diagnostics {"consent":true,"serialNumber":"MH-K72B40QX"}`}, nil},
			{"bye", []string{ended}, nil},
		}},
		"club: a choice of what was told": {agent{
			prompt: "You are Max. Nearest club by postcode: Harbourside. The number is +12025550143.\n\n# Prices\nOff-peak " +
				"24, all day 36 pounds a month.",
			tools: []llm.Tool{
				offer("list_trial_classes", "Lists classes that take trial visitors.",
					`"clubName":{"type":"string","description":"Name of the club."},"kind":{"type":"string","enum":["yoga","swim"],"description":"What interests the lead."},"partOfDay":{"type":"string","enum":["early","evening","any"],"description":"When."}`, "clubName"),
				offer("book_trial_visit", "Books a free trial for the lead.",
					`"trialId":{"type":"string","description":"Identifier as returned by list_trial_classes."},"fullName":{"type":"string","description":"Full name of the lead."},"phoneNumber":{"type":"string","description":"Number of the lead in international form."}`,
					"trialId", "fullName", "phoneNumber"),
			},
			results: map[string]string{
				"list_trial_classes": `{"classes":[{"trialId":"TR1","startsAt":"Monday 18:00"},{"trialId":"TR2","startsAt":"Thursday 07:00"}]}`},
		}, []step{
			{"I'd like to try swimming classes in the evening",
				[]string{`list_trial_classes {"clubName":"Harbourside","kind":"swim","partOfDay":"evening"}`},
				[]string{"1) starts at Monday 18:00"}},
			{"Thursday", nil, []string{"What is your full name?"}},
			{"What are your prices?", nil, []string{"Off-peak 24", "What is your full name?"}},
			{"Ana Silva", []string{`book_trial_visit {"fullName":"Ana Silva","phoneNumber":"+12025550143","trialId":"TR2"}`},
				nil},
			{"goodbye", []string{ended}, nil},
		}},
		"returns, in French": {agent{
			prompt: "Tu es l'assistante du service retours.",
			tools: []llm.Tool{
				offer("find_order", "Retrouve une commande de la boutique.",
					`"orderNumber":{"type":"string","pattern":"^MM[0-9]{8}$","description":"Numéro de commande."},"email":{"type":"string","format":"email","description":"Adresse e-mail utilisée pour la commande."}`, "orderNumber", "email"),
				offer("check_return_eligibility", "Indique si un article peut être repris.",
					`"orderNumber":{"type":"string","pattern":"^MM[0-9]{8}$","description":"Numéro de commande."},"articleId":{"type":"string","description":"Identifiant de l'article donné par find_order."},"reason":{"type":"string","enum":["unsuitable","defective"],"description":"Raison du retour."}`,
					"orderNumber", "articleId", "reason"),
			},
			results: map[string]string{
				"find_order": `{"articles":[{"articleId":"A1","nom":"Lampe Luna"},{"articleId":"A2","nom":"Plaid laine"}]}`},
		}, []step{
			{"Bonjour", nil, []string{"Comment puis-je vous aider ?"}},
			{"Je souhaite retourner un article, il est défectueux", nil,
				[]string{"Pouvez-vous m’indiquer ceci : numéro de commande ?"}},
			{"C'est MM20417733", nil, []string{"Quelle est votre adresse e-mail ?"}},
			{"claire@example.com", []string{`find_order {"email":"claire@example.com","orderNumber":"MM20417733"}`},
				[]string{"1) nom Lampe Luna", "Que choisissez-vous ?"}},
			{"la lampe", []string{`check_return_eligibility {"articleId":"A1","orderNumber":"MM20417733","reason":"defective"}`},
				[]string{"C’est fait."}},
			{"c'est tout", []string{endedInFrench}, nil},
		}},
		"renewals: two calls in a turn": {agent{
			prompt: "You are calling Robin Example because the plan Family Plus ends soon.",
			tools: []llm.Tool{
				offer("get_policy", "Returns what a plan covers.",
					`"planName":{"type":"string","description":"Name of the plan."},"lastName":{"type":"string","description":"Last name of the policyholder."}`, "planName", "lastName"),
				offer("quote_renewal", "Calculates the price of the next year.",
					`"policyNumber":{"type":"string","description":"Number as returned by get_policy."},"payment":{"type":"string","enum":["yearly","quarterly"],"description":"How the customer wants to pay."}`, "policyNumber"),
			},
			results: map[string]string{"get_policy": `{"policyNumber":"P-5512"}`,
				"quote_renewal": `{"yearly":252,"quarterly":65}`},
		}, []step{
			{"Yes, speaking", nil, []string{"What I can do here: get policy, quote renewal."}},
			{"What would my renewal cost, paid quarterly?",
				[]string{`get_policy {"lastName":"Example","planName":"Family Plus"}`,
					`quote_renewal {"payment":"quarterly","policyNumber":"P-5512"}`}, []string{"yearly 252, quarterly 65."}},
			{"no thanks", []string{ended}, nil},
		}},
		"flights: several values in one message": {agent{
			prompt: "You are the travel assistant. Today is 2026-10-10.",
			tools: []llm.Tool{
				offer("search_alternative_flights", "Lists flights with enough free seats.",
					`"bookingReference":{"type":"string","pattern":"^[A-Z0-9]{6}$","description":"Booking to be moved."},"earliest":{"type":"string","format":"date-time","description":"Earliest departure."}`, "bookingReference", "earliest"),
				offer("issue_care_voucher", "Issues vouchers for meals, hotel or transfer.",
					`"bookingReference":{"type":"string","pattern":"^[A-Z0-9]{6}$","description":"Booking of the passengers."},"kinds":{"type":"array","items":{"type":"string","enum":["meal","hotel","transfer"]},"description":"What is needed."},"passengers":{"type":"integer","minimum":1,"maximum":9,"description":"For how many people."}`,
					"bookingReference", "kinds", "passengers"),
			},
		}, []step{
			{"My flight was cancelled, my reference is MW7K2P. Is there another flight tomorrow at 8am?",
				[]string{`search_alternative_flights {"bookingReference":"MW7K2P","earliest":"2026-10-11T08:00:00Z"}`}, nil},
			{"I need a hotel and a meal", nil, []string{"Could you tell me for how many people?"}},
			{"twenty", nil, []string{"Sorry, I did not quite get that."}},
			{"two of us", []string{`issue_care_voucher {"bookingReference":"MW7K2P","kinds":["meal","hotel"],"passengers":2}`},
				nil},
			{"bye", []string{ended}, nil},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, test.agent, test.steps)
		})
	}
}

func TestTurnsDownAndGivesUp(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]step{
		"a no before a tool is called": {
			{"Please book an appointment for my knee, I was born on 12 May 1988 and my name is Ana Silva", nil,
				[]string{"the kind of visit"}},
			{"no", nil, []string{"I leave it at that"}},
		},
		"asked twice in vain": {
			{"book an appointment", nil, []string{"the kind of visit"}},
			{"blue", nil, []string{"Sorry, I did not quite get that. Could you tell me the kind of visit"}},
			{"green", nil, []string{"Never mind, let us leave that for now. Shall I have a colleague call you back?"}},
		},
		"another matter instead of an answer": {
			{"book an appointment", nil, []string{"the kind of visit"}},
			{"call me back instead", nil, []string{"Could you tell me the wanted time?"}},
		},
		"nothing fits": {
			{"Do you sell bicycles?", nil, []string{"I am the offline model", "What I can do here: find free slots, book " +
				"appointment, schedule callback."}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, reception, steps)
		})
	}
}

func TestKnowledgeGoesBeforeInstructions(t *testing.T) {
	t.Parallel()
	hold(t, agent{prompt: "The kettle has a filter.\n\nKnowledge:\nNever wash the filter of the kettle in a " +
		"dishwasher.\nRinse it weekly."}, []step{
		{"How do I clean the filter?", nil, []string{"Here is what I find about that: “Never wash the filter of the kettle " +
			"in a dishwasher.”"}},
	})
}
