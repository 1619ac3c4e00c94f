package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway/rest/openapi"
	"github.com/agentgraph/agentgraph/model"
)

// story is a REST client that calls every operation of the document.
type story struct {
	*gatewayUnderTest
	key      string
	document *openapi3.T
	calls    []restCall
}

// restCall is a request of an operation and its answer.
type restCall struct {
	Operation  string
	Parameters map[string]string
	Body       any
	Answer     json.RawMessage
}

func newStory(t *testing.T) *story {
	t.Helper()
	g := startGateway(t)
	tenant, key := g.company(t, "REST")
	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: "Pro", CreditsIncluded: 100 * model.Credit}))
	s := &story{gatewayUnderTest: g, key: key}
	response := g.do(t, http.MethodGet, "/openapi.json", "", "")
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	s.document, err = openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	closeObjects(s.document)
	return s
}

// closeObjects forbids additional properties in the document, so that undocumented properties are found.
func closeObjects(document *openapi3.T) {
	for _, schema := range document.Components.Schemas {
		if len(schema.Value.Properties) > 0 {
			schema.Value.AdditionalProperties = openapi3.BoolSchema{Has: new(false)}
		}
	}
}

// operation finds an operation of the document by its id.
func (s *story) operation(t *testing.T, id string) openapi.Operation {
	t.Helper()
	for _, chapter := range openapi.Chapters(s.document) {
		for _, o := range chapter.Operations {
			if o.OperationID == id {
				return o
			}
		}
	}
	require.Fail(t, "the document has no operation "+id)
	return openapi.Operation{}
}

// send sends a request of an operation. The parameters fill the path, and then the query string.
func (s *story) send(t *testing.T, o openapi.Operation, parameters map[string]string, body any) (int, []byte) {
	t.Helper()
	path, query := o.Path, url.Values{}
	for name, value := range parameters {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		} else {
			query.Set(name, value)
		}
	}
	text := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(encoded)
	}
	response := s.do(t, o.Method, path+"?"+query.Encode(), s.key, text)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if said := o.Responses.Status(response.StatusCode); said != nil && said.Value.Headers["Location"] != nil {
		created := s.do(t, http.MethodGet, response.Header.Get("Location"), s.key, "")
		require.NoError(t, created.Body.Close())
		require.Equal(t, http.StatusOK, created.StatusCode, o.OperationID)
	}
	return response.StatusCode, answer
}

// call sends a request that must succeed with a documented answer, and returns the answer.
func (s *story) call(t *testing.T, operation string, parameters map[string]string, body any) map[string]any {
	t.Helper()
	o := s.operation(t, operation)
	if body != nil {
		s.requireMatch(t, o.RequestBody.Value.Content["application/json"].Schema.Value, body, operation)
	}
	status, answer := s.send(t, o, parameters, body)
	var said *openapi3.Response
	for _, success := range []int{http.StatusOK, http.StatusAccepted, http.StatusNoContent} {
		if r := o.Responses.Status(success); r != nil {
			require.Equal(t, success, status, "%s: %s", operation, answer)
			said = r.Value
		}
	}
	var value map[string]any
	if len(said.Content) > 0 {
		require.NoError(t, json.Unmarshal(answer, &value))
		s.requireMatch(t, said.Content["application/json"].Schema.Value, value, operation)
	} else {
		require.Empty(t, answer)
	}
	s.calls = append(s.calls, restCall{operation, parameters, body, answer})
	return value
}

// requireMatch requires a value to match a schema of the document.
func (s *story) requireMatch(t *testing.T, schema *openapi3.Schema, value any, operation string) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	var plain any
	require.NoError(t, json.Unmarshal(text, &plain))
	require.NoError(t, s.document.ValidateSchemaJSON(schema, plain), operation)
}

type object = map[string]any

// with returns parameters from alternating names and values.
func with(pairs ...string) map[string]string {
	parameters := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		parameters[pairs[i]] = pairs[i+1]
	}
	return parameters
}

// agent creates an agent with everything that REST shows. It returns the ids of the agent, its tool and its sub-agent.
func (s *story) agent(t *testing.T) (agent, tool, subAgent string) {
	t.Helper()
	var made struct {
		Agent, Helper struct{ Agent struct{ ID string } }
		Tool          struct{ Tool struct{ ID string } }
	}
	s.must(t, s.key, `mutation {
		agent: createAgent(input: {name: "Front desk", channel: Web, direction: Inbound, language: "en", tags: ["hotel"],
			prompt: "You are the front desk of the hotel {hotel}. Breakfast is from seven to ten.",
				inboundWelcomeMessage: "Welcome to {hotel}!",
			fields: [{name: "hotel", isMandatory: true}], classificationTags: [{name: "booking",
				definition: "The contact books a room."}],
			extractedValues: [{name: "guest", definition: "The name of the guest", type: Nom}]}) { agent { id } }
		helper: createAgent(input: {name: "Housekeeping", channel: Web, direction: Inbound, language: "en",
			prompt: "You send towels."}) { agent { id } }
		tool: createTool(input: {name: "Book a room", technicalName: "book_room",
			parameters: {type: "object"}}) { tool { id } }
	}`, nil, &made)
	var connected struct {
		Sub struct{ SubAgent struct{ ID string } }
	}
	s.must(t, s.key, `mutation ($agent: ID!, $helper: ID!, $tool: ID!) {
		connectTool(input: {agentId: $agent, toolId: $tool}) { agent { id } }
		sub: addSubAgent(input: {agentId: $agent, delegateAgentId: $helper, name: "Housekeeping",
			technicalName: "housekeeping", description: "Sends towels."}) { subAgent { id } }
	}`, object{"agent": made.Agent.Agent.ID, "helper": made.Helper.Agent.ID, "tool": made.Tool.Tool.ID}, &connected)
	return made.Agent.Agent.ID, made.Tool.Tool.ID, connected.Sub.SubAgent.ID
}

// work runs tests and indexes documents until the test ends.
func (s *story) work(t *testing.T) {
	t.Helper()
	e := engine.New(offline.New(), engine.Options{})
	v := evaluation.New(e, evaluation.Options{Contact: offline.Contact(), Judge: offline.Judge(),
		Classifier: offline.Classifier()})
	require.NoError(t, s.store.Work(t.Context(), 4, db.Workers{RunTest: v.RunTest, Index: e.Knowledge().Index}))
	t.Cleanup(func() { require.NoError(t, s.store.StopWork(context.WithoutCancel(t.Context()))) })
}

// await repeats a request until a member of the answer has the value. These requests are not part of the story.
func (s *story) await(t *testing.T, operation string, parameters map[string]string, member string, want any) {
	t.Helper()
	o := s.operation(t, operation)
	require.Eventually(t, func() bool {
		var answer object
		_, text := s.send(t, o, parameters, nil)
		require.NoError(t, json.Unmarshal(text, &answer))
		return answer[member] == want
	}, 20*time.Second, 20*time.Millisecond)
}
