package provider

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// optionalFields matches the fields of requests that an answer is possible without. Some models and compatible servers
// refuse them.
var optionalFields = regexp.MustCompile(`\b(temperature|top_p|presence_penalty|frequency_penalty|response_format|` +
	`text\.format|output_config|cache_control|include|stream_options|prompt_cache_key)\b`)

// schemaFields are the fields with the schema of an answer. They are optional because the schema can be in the
// instructions.
var schemaFields = []string{"response_format", "text", "output_config"}

// optionalFieldsIn returns the optional fields that a refusal names.
func optionalFieldsIn(status int, body []byte) []string {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return nil
	}
	var names []string
	for _, found := range optionalFields.FindAll(body, -1) {
		if name, _, _ := strings.Cut(string(found), "."); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// bodyOf returns the body of a request without the named fields.
func (m *Model) bodyOf(req llm.Request, without []string) any {
	isSchema := func(name string) bool { return slices.Contains(schemaFields, name) }
	if len(req.Schema) > 0 && slices.ContainsFunc(without, isSchema) {
		req.System = strings.TrimSpace(req.System + "\n\nAnswer with one JSON object that fits this JSON Schema, and with " +
			"nothing else:\n" + string(req.Schema))
		req.Schema = nil
	}
	body := m.format.encode(&m.config, req)
	if len(without) == 0 {
		return body
	}
	fields := fieldsOf(body)
	for _, name := range without {
		delete(fields, name)
	}
	return fields
}

func fieldsOf(body any) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	encoded, _ := json.Marshal(body) // check has accepted the JSON in the request
	_ = json.Unmarshal(encoded, &fields)
	return fields
}

// refusedFields returns the optional fields that the model has refused so far.
func (m *Model) refusedFields() []string {
	var names []string
	for name := range m.refused.Range {
		names = append(names, name.(string))
	}
	return names
}

// refusedFieldsOf returns the fields of the attempt's body that its refusal names.
func (a *attempt) refusedFieldsOf(body any) []string {
	if len(a.named) == 0 {
		return nil
	}
	fields := fieldsOf(body)
	return slices.DeleteFunc(a.named, func(name string) bool { return fields[name] == nil })
}
