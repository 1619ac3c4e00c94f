package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
)

// Functions returns the functions that templates use for a document.
func Functions(document *openapi3.T) template.FuncMap {
	return template.FuncMap{
		"bounds": bounds, "properties": properties, "scopes": Scopes, "failures": Failures, "problems": Problems,
		// parameter and schema resolve references.
		"parameter": func(ref *openapi3.ParameterRef) *openapi3.Parameter {
			return cmp.Or(document.Components.Parameters[component(ref.Ref)], ref).Value
		},
		"schema": func(ref *openapi3.SchemaRef) *openapi3.Schema {
			return cmp.Or(document.Components.Schemas[component(ref.Ref)], ref).Value
		},
	}
}

// Chapter has the operations of a tag.
type Chapter struct {
	*openapi3.Tag
	Operations []Operation
}

// Operation is an operation with its method and path.
type Operation struct {
	*openapi3.Operation
	Method, Path string
	// Counterpart is the GraphQL field that does the same, such as Mutation.createDataset, or "".
	Counterpart string
}

// Chapters returns the operations of a document by tag, sorted by path and by method from GET to DELETE.
func Chapters(document *openapi3.T) []Chapter {
	chapters := make([]Chapter, len(document.Tags))
	for i, tag := range document.Tags {
		chapters[i].Tag = tag
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			i := slices.IndexFunc(chapters, func(c Chapter) bool { return c.Name == operation.Tags[0] })
			field, _ := operation.Extensions[counterpart].(string)
			chapters[i].Operations = append(chapters[i].Operations, Operation{operation, method, path, field})
		}
	}
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	for _, c := range chapters {
		slices.SortFunc(c.Operations, func(a, b Operation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), slices.Index(methods, a.Method)-slices.Index(methods, b.Method))
		})
	}
	return chapters
}

// Property is a property of an object.
type Property struct {
	Name       string
	IsRequired bool
	*openapi3.SchemaRef
}

// properties returns an object's properties: the required ones in their order, then the others by name.
func properties(object *openapi3.Schema) []Property {
	var all []Property
	for _, name := range object.Required {
		all = append(all, Property{name, true, object.Properties[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		if !slices.Contains(object.Required, name) {
			all = append(all, Property{name, false, object.Properties[name]})
		}
	}
	return all
}

// Scopes returns the scopes that a credential needs.
func Scopes(o *openapi3.Operation) []string { return (*o.Security)[0]["ApiKey"] }

// Failures returns the statuses of an operation's failures, sorted.
func Failures(o *openapi3.Operation) []string {
	var failed []string
	for status, response := range o.Responses.Map() {
		if response.Ref != "" {
			failed = append(failed, status)
		}
	}
	slices.Sort(failed)
	return failed
}

// Problem is the meaning of a failure's status.
type Problem struct {
	Status         int
	Title, Meaning string
}

// Problems returns the problems of a document, sorted by status.
func Problems(document *openapi3.T) []Problem {
	all := []Problem{{http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed), wrongMethod}}
	for status := range problems {
		meaning := document.Components.Responses[problemName(status)].Value.Description
		all = append(all, Problem{status, http.StatusText(status), *meaning})
	}
	slices.SortFunc(all, func(a, b Problem) int { return a.Status - b.Status })
	return all
}

func component(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// Type returns the type of a value in words. It calls link for the names of components.
func Type(ref *openapi3.SchemaRef, link func(component string) string) string {
	switch {
	case ref.Ref != "":
		return link(component(ref.Ref))
	case ref.Value.Items != nil:
		elements := Type(ref.Value.Items, link)
		if strings.HasSuffix(elements, orNull) {
			elements = "(" + elements + ")"
		}
		return "list of " + elements + orNothing(ref.Value)
	case len(ref.Value.AnyOf) > 0:
		return Type(ref.Value.AnyOf[0], link) + orNull
	case ref.Value.Type == nil:
		return "file"
	default:
		word := (*ref.Value.Type)[0]
		if ref.Value.Format == "date-time" {
			word = "date-time"
		}
		return word + orNothing(ref.Value)
	}
}

// orNull follows the type of a value that can be null.
const orNull = " or null"

func orNothing(s *openapi3.Schema) string {
	if s.Type.Includes("null") {
		return orNull
	}
	return ""
}

// bounds returns the bounds and the default of a value in words, except those that the description already states. It
// leaves out a minimum without a maximum.
func bounds(ref *openapi3.SchemaRef) string {
	if ref.Value == nil {
		return ""
	}
	var parts []string
	s := ref.Value
	if s.Min != nil && s.Max != nil {
		parts = append(parts, fmt.Sprintf("%.0f to %.0f", *s.Min, *s.Max))
	}
	parts = append(parts, span(s.MinItems, s.MaxItems, "entries"), span(s.MinProps, s.MaxProps, "entries"),
		span(s.MinLength, s.MaxLength, "characters"))
	if s.Items != nil && s.Items.Value != nil {
		parts = append(parts, span(s.Items.Value.MinLength, s.Items.Value.MaxLength, "characters each"))
	}
	if s.Default != nil {
		text, _ := json.Marshal(s.Default) // it was read from JSON or GraphQL
		parts = append(parts, "default "+string(text))
	}
	description := strings.ToLower(strings.ReplaceAll(s.Description, ",", ""))
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Contains(description, part) })
	return strings.Join(parts, ", ")
}

func span(least uint64, most *uint64, unit string) string {
	switch {
	case most == nil:
		return ""
	case least == 0:
		return fmt.Sprintf("at most %d %s", *most, unit)
	default:
		return fmt.Sprintf("%d to %d %s", least, *most, unit)
	}
}
