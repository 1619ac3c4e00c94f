package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// recorded has requests and responses from a test of the whole program, with stable ids and times. The test writes the
// file if AGENTGRAPH_RECORD is 1.
//
//go:embed examples.json
var recorded []byte

type example struct {
	// Parameters are the parameters of the path and the query string.
	Parameters map[string]string `json:"parameters,omitempty"`
	Body       json.RawMessage   `json:"body,omitempty"`
	Answer     json.RawMessage   `json:"answer,omitempty"`
}

func readExamples() (map[string]example, error) {
	var examples map[string]example
	if err := json.Unmarshal(recorded, &examples); err != nil {
		return nil, fmt.Errorf("read the examples: %w", err)
	}
	return examples, nil
}

func (d *describer) illustrate(o *openapi3.Operation) {
	example, found := d.examples[o.OperationID]
	if !found {
		return
	}
	for _, p := range o.Parameters {
		if p.Value == nil { // a reference to a shared parameter
			continue
		}
		if text, given := example.Parameters[p.Value.Name]; given {
			p.Value.Example = literal(text, p.Value.Schema)
		}
	}
	if o.RequestBody != nil {
		o.RequestBody.Value.Content["application/json"].Example = example.Body
	}
	for _, status := range []int{200, 202} {
		if r := o.Responses.Value(strconv.Itoa(status)); r != nil {
			r.Value.Content["application/json"].Example = example.Answer
		}
	}
}

// literal returns the JSON value of a parameter's text.
func literal(text string, schema *openapi3.SchemaRef) any {
	var value any
	if schema.Value == nil || schema.Value.Type.Is("string") || json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}
