package main

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/graph"
)

type (
	// api is the schema, grouped by file.
	api struct {
		schema *ast.Schema
		Areas  []*area
		// Paging are the arguments of all paginated lists.
		Paging []*ast.ArgumentDefinition
	}
	// area has the declarations of one schema file.
	area struct {
		api         *api
		Title, Slug string
		Operations  []operation
		Types       []*ast.Definition
		Directives  []*ast.DirectiveDefinition
	}
	// operation is a field of Query, Mutation or Subscription.
	operation struct {
		*ast.FieldDefinition
		Kind string
	}
)

// pagingArguments are the arguments of every paginated list.
var pagingArguments = []string{"first", "after", "offset", "last", "before"}

// kinds returns the kinds of operations, each with its title.
func kinds() [][2]string {
	return [][2]string{{"query", "Queries"}, {"mutation", "Mutations"}, {"subscription", "Subscriptions"}}
}

func kindOf(d *ast.Definition) string {
	text := strings.ToLower(strings.TrimSuffix(string(d.Kind), "_OBJECT"))
	return strings.ToUpper(text[:1]) + text[1:]
}

func readSchema() *api {
	a := &api{schema: graph.NewExecutableSchema(graph.Config{}).Schema()}
	for _, kind := range []*ast.Definition{a.schema.Query, a.schema.Mutation, a.schema.Subscription} {
		for _, field := range kind.Fields {
			if field.Position != nil && !strings.HasPrefix(field.Name, "__") {
				area := a.area(field.Position)
				area.Operations = append(area.Operations, operation{field, strings.ToLower(kind.Name)})
			}
		}
	}
	for _, definition := range a.schema.Types {
		if definition.BuiltIn || a.isRoot(definition) {
			continue
		}
		area := a.area(definition.Position)
		area.Types = append(area.Types, definition)
		for _, field := range definition.Fields {
			if a.Paging == nil && isPaged(field) {
				a.Paging = slices.DeleteFunc(slices.Clone(field.Arguments), func(arg *ast.ArgumentDefinition) bool {
					return !slices.Contains(pagingArguments, arg.Name)
				})
			}
		}
	}
	for _, directive := range a.schema.Directives {
		if directive.Position != nil && !directive.Position.Src.BuiltIn {
			area := a.area(directive.Position)
			area.Directives = append(area.Directives, directive)
		}
	}
	for _, area := range a.Areas {
		slices.SortFunc(area.Types, func(a, b *ast.Definition) int {
			return cmp.Compare(a.Position.Start, b.Position.Start)
		})
		slices.SortFunc(area.Directives, func(a, b *ast.DirectiveDefinition) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(a.Areas, func(a, b *area) int { return strings.Compare(a.Slug, b.Slug) })
	return a
}

func (a *api) isRoot(d *ast.Definition) bool {
	return d == a.schema.Query || d == a.schema.Mutation || d == a.schema.Subscription
}

// area returns the area of a position, and adds it if it is new.
func (a *api) area(at *ast.Position) *area {
	slug := slugOf(at)
	for _, known := range a.Areas {
		if known.Slug == slug {
			return known
		}
	}
	title := strings.NewReplacer("agenttest", "agent test",
		"api-", "API ", "sub-agent", "sub-agent", "-", " ").Replace(slug)
	if slug == "schema" {
		title = "common types"
	}
	made := &area{api: a, Title: strings.ToUpper(title[:1]) + title[1:], Slug: slug}
	a.Areas = append(a.Areas, made)
	return made
}

func slugOf(at *ast.Position) string {
	return strings.ReplaceAll(strings.TrimSuffix(path.Base(at.Src.Name), ".graphqls"), "_", "-")
}

func isPaged(field *ast.FieldDefinition) bool {
	return !slices.ContainsFunc(pagingArguments, func(name string) bool { return field.Arguments.ForName(name) == nil })
}

// Of returns the operations of a kind.
func (a *api) Of(kind string) []linked {
	var all []linked
	for _, area := range a.Areas {
		for _, o := range area.Operations {
			if o.Kind == kind {
				all = append(all, linked{o, "schema/" + area.Slug + ".md#" + anchor(o.Heading())})
			}
		}
	}
	slices.SortFunc(all, func(a, b linked) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// linked is an operation with a link to its description.
type linked struct {
	operation
	Link string
}

// Heading is the title of an operation. It differs from the titles of types.
func (o operation) Heading() string { return o.Kind + " " + o.Name }

// Type returns a type as a link from the page of all areas.
func (a *api) Type(t *ast.Type) string { return a.link(t, "schema/", "") }

// Type returns a type as a link from the area's page.
func (a *area) Type(t *ast.Type) string { return a.api.link(t, "", a.Slug) }

// Named returns the named type as a link from the area's page.
func (a *area) Named(name string) string { return a.Type(ast.NamedType(name, nil)) }

func (a *api) link(t *ast.Type, folder, here string) string {
	definition := a.schema.Types[t.Name()]
	if definition.BuiltIn {
		return "`" + t.String() + "`"
	}
	page := ""
	if slug := slugOf(definition.Position); slug != here {
		page = folder + slug + ".md"
	}
	return fmt.Sprintf("[`%s`](%s#%s)", t, page, anchor(definition.Name))
}

// File returns the name of the area's schema file.
func (a *area) File() string { return strings.ReplaceAll(a.Slug, "-", "_") + ".graphqls" }

// Nouns returns the types that are not inputs, payloads, connections or edges.
func (a *area) Nouns() []*ast.Definition {
	return slices.DeleteFunc(slices.Clone(a.Types), func(d *ast.Definition) bool { return accessory.MatchString(d.Name) })
}

var accessory = regexp.MustCompile(`(Input|Payload|Connection|Edge)$`)

// Arguments returns the arguments of a field. For a paginated list it omits the paging arguments.
func (a *area) Arguments(field *ast.FieldDefinition) []*ast.ArgumentDefinition {
	return slices.DeleteFunc(slices.Clone(field.Arguments), func(arg *ast.ArgumentDefinition) bool {
		return isPaged(field) && slices.Contains(pagingArguments, arg.Name)
	})
}

// IsPaged reports whether the field is a paginated list.
func (a *area) IsPaged(field *ast.FieldDefinition) bool { return isPaged(field) }

// Of returns the operations of a kind.
func (a *area) Of(kind string) []operation {
	return slices.DeleteFunc(slices.Clone(a.Operations), func(o operation) bool { return o.Kind != kind })
}

// Notes describes the directives of a field in sentences.
func (a *area) Notes(field *ast.FieldDefinition) string {
	var notes []string
	value := func(directive, argument string) string {
		if d := field.Directives.ForName(directive); d != nil && d.Arguments.ForName(argument) != nil {
			return d.Arguments.ForName(argument).Value.Raw
		}
		return ""
	}
	if scope := value("requires", "scope"); scope != "" {
		note := "Scope: `" + scope + "`"
		if open := value("openTo", "scope"); open != "" {
			note += " or `" + open + "`"
		}
		if value("requires", "keyOnly") == "true" {
			note += ", with an API key only"
		}
		notes = append(notes, note+".")
	} else if open := value("openTo", "scope"); open != "" {
		notes = append(notes, "Also open to the scope `"+open+"`.")
	}
	if field.Directives.ForName("modelDriven") != nil {
		notes = append(notes, "Calls a tool, an MCP server or a language model.")
	}
	if cost := value("cost", "weight"); cost != "" {
		notes = append(notes, "Cost: "+cost+".")
	}
	return strings.Join(notes, " ")
}
