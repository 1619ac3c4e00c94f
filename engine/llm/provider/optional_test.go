package provider_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

// fussy is a provider that refuses requests with a field and answers others. It records the bodies.
func fussy(
	format provider.Format, field string, status int, refusal string, bodies *[]map[string]any,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		encoded, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.NewDecoder(bytes.NewReader(encoded)).Decode(&body)
		*bodies = append(*bodies, body)
		if body[field] != nil {
			refuse(status, "Content-Type", "application/json", refusal)(w, r)
			return
		}
		send(w, scripts[format].start, scripts[format].end)
	}
}

func TestRefusedOptionalFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	req := hello
	req.Temperature = new(float64)
	req.Tools = []llm.Tool{{Name: "stock"}}
	req.Schema = json.RawMessage(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)
	for name, test := range map[string]struct {
		format  provider.Format
		field   string
		status  int
		refusal string
	}{
		"OpenAI's temperature": {provider.Completions, "temperature", 400,
			`{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature","code":"unsupported_value"}}`},
		"DeepSeek's schema": {provider.Completions, "response_format", 400,
			`{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error"}}`},
		"Groq's schema": {provider.Completions, "response_format", 400,
			"{\"error\":{\"message\":\"This model does not support response format `json_schema`.\",\"param\":\"response_format\"}}"},
		"options of a stream": {provider.Completions, "stream_options", 422,
			`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`},
		"reasoning of a model without it": {provider.Responses, "include", 400,
			`{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`},
		"schema of Responses": {provider.Responses, "text", 400,
			`{"error":{"message":"Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.","param":"text.format"}}`},
		"schema of a proxy": {provider.Messages, "output_config", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`},
		"cache of a proxy": {provider.Messages, "cache_control", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"cache_control: Extra inputs are not permitted"}}`},
	} {
		var bodies []map[string]any
		_, model := speak(t, test.format, nil, fussy(test.format, test.field, test.status, test.refusal, &bodies))
		for range 2 {
			answer, err := llm.Collect(model.Chat(t.Context(), req))
			require.NoError(t, err, name)
			require.Equal(t, "Good day", answer.Text, name)
		}
		require.Len(t, bodies, 3, "%s: the refused field is not sent again", name)
		if field := test.field; field == "response_format" || field == "text" || field == "output_config" {
			encoded, err := json.Marshal(bodies[1])
			require.NoError(t, err)
			require.Contains(t, string(encoded), `Schema, and with nothing else:\n{\"type\":\"object\"`, name)
		}
	}
}

func TestOtherRefusalsAreReported(t *testing.T) {
	t.Parallel()
	req := hello
	req.Temperature = new(float64)
	asked, model := serve(t, nil, refuse(400, "", "", `{"error":{"message":"The messages include no temperature."}}`),
		refuse(400, "", "", `{"error":{"message":"The messages include no temperature."}}`), events(startOfText, endOfText, done))
	_, err := llm.Collect(model.Chat(t.Context(), req))
	require.Equal(t, llm.Rejected, requireFailure(t, err).Cause)
	require.EqualValues(t, 2, asked.asked.Load(), "once without the temperature")

	var bodies []map[string]any
	asked.answers = append(asked.answers[:2:2], fussy(provider.Completions, "", 0, "", &bodies))
	_, err = llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err)
	require.Contains(t, bodies[0], "temperature", "a field is remembered only after a success without it")
}
