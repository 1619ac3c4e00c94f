package main

import (
	"bytes"
	"encoding/json"
	"log"
	"reflect"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

type (
	// event is a type of webhook message. Event is the value of WebhookEvent, or "".
	event struct {
		Name, Event, Type, Help, Example string
		Members                          []member
	}
	member struct{ Name, Type, Help string }
)

// examples are the data of an example message for each event.
var examples = map[model.WebhookEvent]any{
	model.WebhookEventAgentTestExecutionEnded: model.ExecutionEnded{
		ExecutionID: "execution_01m82qgyzvekarw0hkv1sa8hwv", AgentID: new("agent_01m824w2zxffnsgb05p3hbq4m4"),
		AgentName: new("Clinic reception"), Status: model.AgentTestExecutionStatusCompleted,
		Verdict: model.AgentTestVerdictFailed, Counts: model.EndedCounts{Total: 40, Passed: 38, Failed: 2},
		PassRate:    new(.95),
		FailedTests: []model.EventTest{{ID: "test_01m825b1h4e5f8m7c2x9k3r6tz", Name: "Says where to park"}},
		Schedule:    &model.EndedSchedule{ID: "schedule_01m823j9s8f6d5g4h3k2m1n0pq", Name: "Every night"},
		Comparison: &model.EndedComparison{BaselineID: "execution_01m7yn1htzexesns5wjxxva918",
			Conclusion: model.AgentTestConclusionNoDifference, NewlyFailing: 1},
		CreatedAt: "2026-11-22T22:30:00.000Z", FinishedAt: "2026-11-22T22:40:00.000Z",
	},
	model.WebhookEventAgentTestsTurnedRed: model.TestsStartedFailing{
		ExecutionID: "execution_01m82qgyzvekarw0hkv1sa8hwv", AgentID: new("agent_01m824w2zxffnsgb05p3hbq4m4"),
		AgentName: new("Clinic reception"),
		Tests:     []model.EventTest{{ID: "test_01m825b1h4e5f8m7c2x9k3r6tz", Name: "Says where to park"}},
	},
	model.WebhookEventAgentTestScheduleFailed: model.ScheduleFailed{
		ScheduleID: "schedule_01m823j9s8f6d5g4h3k2m1n0pq", Name: "Every night", Error: "all of its tests were deleted",
		FailedAt: "2026-11-22T22:30:00.000Z",
	},
	model.WebhookEventBudgetWarned: (&model.CompanySubscription{PeriodStart: messageTime, CreditsUsed: 82 * model.Credit,
		Budget: new(100 * model.Credit)}).Warned(),
	model.WebhookEventDocumentReady: model.DocumentIndexed{DocumentID: "document_01m82a7c9d1e3f5g7h9j1k3m5n",
		DatasetID: "dataset_01m82a6b8c0d2e4f6g8h0j2k4m", Name: "prices.md", ChunkCount: 12},
	model.WebhookEventDocumentFailed: model.DocumentIndexed{DocumentID: "document_01m82a7c9d1e3f5g7h9j1k3m5n",
		DatasetID: "dataset_01m82a6b8c0d2e4f6g8h0j2k4m", Name: "scan.pdf", Error: new("the file contains no text")},
}

var messageTime = time.Date(2026, time.November, 22, 22, 40, 0, 0, time.UTC)

// readEvents returns the events in the order of the schema, and the message that tests a webhook.
func readEvents(schema *ast.Schema) []event {
	var all []event
	for _, value := range schema.Types["WebhookEvent"].EnumValues {
		data := examples[model.WebhookEvent(value.Name)]
		if data == nil {
			log.Fatal("there is no example of ", value.Name)
		}
		messages, err := model.NewDeliveries([]string{""}, model.WebhookEvent(value.Name), nil, data, messageTime)
		if err != nil {
			log.Fatal(err)
		}
		help, _, _ := strings.Cut(value.Description, " (`"+messages[0].Type+"`)")
		help += strings.TrimPrefix(value.Description, help+" (`"+messages[0].Type+"`)")
		all = append(all, event{value.Name, value.Name, messages[0].Type, help, indented(messages[0]), membersOf(data)})
	}
	ping, err := model.NewPing(&model.Webhook{ID: "webhook_01m82pz0x1y2z3a4b5c6d7e8f9"}, messageTime)
	if err != nil {
		log.Fatal(err)
	}
	return append(all, event{"Ping", "", ping.Type, "Somebody called `sendTestWebhook`.", indented(ping),
		[]member{{"webhookId", "string", "The webhook."}}})
}

func indented(message *model.WebhookDelivery) string {
	var out bytes.Buffer
	if err := json.Indent(&out, message.Payload, "", "  "); err != nil {
		log.Fatal(err)
	}
	return out.String()
}

// membersOf returns the members of a struct's JSON form.
func membersOf(data any) []member {
	var all []member
	for field := range reflect.TypeOf(data).Fields() {
		t, null := field.Type, ""
		if t.Kind() == reflect.Pointer {
			t, null = t.Elem(), " or null"
		}
		all = append(all, member{field.Tag.Get("json"), jsonType(t) + null, field.Tag.Get("doc")})
	}
	return all
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "list"
	}
	return "number"
}
