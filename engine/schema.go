package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// keptSchemas is how many compiled schemas are kept.
	keptSchemas = 512
	// maxFault bounds, in bytes, what a model is told about its arguments.
	maxFault = 2_000
)

// schemas compiles JSON Schemas and keeps them compiled.
type schemas struct {
	compiled *lru.Cache[string, *jsonschema.Schema]
}

func newSchemas() *schemas {
	// It fails for sizes below 1 only.
	compiled, _ := lru.New[string, *jsonschema.Schema](keptSchemas)
	return &schemas{compiled}
}

// validate returns why a call's arguments do not fit the schema, for the model; nil when they do.
func (s *schemas) validate(schema json.RawMessage, call arguments) error {
	compiled, err := s.compile(string(schema))
	if err != nil {
		return errors.New("the tool's own JSON Schema is not usable")
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(map[string]any(call)); errors.As(err, &invalid) {
		faults := slices.Compact(leaves(invalid, nil))
		return errors.New("the arguments do not fit: " + cut(strings.Join(faults, "; "), maxFault))
	}
	return nil
}

func (s *schemas) compile(schema string) (*jsonschema.Schema, error) {
	if compiled, ok := s.compiled.Get(schema); ok {
		return compiled, nil
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiled, err := model.CompileSchema(document)
	if err == nil {
		s.compiled.Add(schema, compiled)
	}
	return compiled, err
}

var english = message.NewPrinter(language.English)

// leaves are the faults at the bottom of a validation error, each with its place in the arguments.
func leaves(e *jsonschema.ValidationError, faults []string) []string {
	for _, cause := range e.Causes {
		faults = leaves(cause, faults)
	}
	if len(e.Causes) > 0 {
		return faults
	}
	text := e.ErrorKind.LocalizedString(english)
	if len(e.InstanceLocation) > 0 {
		text = fmt.Sprintf("%s: %s", strings.Join(e.InstanceLocation, "."), text)
	}
	return append(faults, text)
}

// parametersOf returns the names that a schema declares, and whether it is plain enough to know them all.
func parametersOf(schema json.RawMessage) (map[string]bool, bool) {
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(schema, &keywords); err != nil {
		return nil, false
	}
	plain := []string{"type", "properties", "required", "additionalProperties", "title", "description", "$schema"}
	for keyword := range keywords {
		if !slices.Contains(plain, keyword) {
			return nil, false
		}
	}
	var properties map[string]json.RawMessage
	if declared, ok := keywords["properties"]; ok {
		if err := json.Unmarshal(declared, &properties); err != nil {
			return nil, false
		}
	}
	names := make(map[string]bool, len(properties))
	for name := range properties {
		names[name] = true
	}
	return names, true
}
