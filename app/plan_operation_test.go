package app_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// operations generates random valid operations. Most run without errors.
type operations struct {
	schema *ast.Schema
	// ids has ids by the list that they were read from. Some belong to another company. cursors are positions in those
	// lists.
	ids, cursors map[string][]string
}

// operation is a document with its variables.
type operation struct {
	text      string
	variables map[string]any
}

// writing is an operation under construction.
type writing struct {
	*operations
	random    *rand.Rand
	variables map[string]any
	declared  []string
	fragments []string
	aliases   int
	fields    int
}

// excludedFields lists fields that are too expensive, or whose values change all the time.
var excludedFields = []string{"retrieve", "content", "coverage", "consumptionBreakdown", "compareAgentTestExecutions",
	"apiKeys", "subscription", "rest", "evaluateRetrieval"}

// make generates the operation of a seed.
func (o *operations) make(seed uint64) operation {
	w := &writing{operations: o, random: rand.New(rand.NewPCG(seed, 1)), variables: map[string]any{}}
	roots := slices.DeleteFunc(slices.Clone(o.schema.Query.Fields),
		func(f *ast.FieldDefinition) bool { return slices.Contains(excludedFields, f.Name) })
	var body strings.Builder
	for range 1 + w.random.IntN(2) {
		w.fieldOnceOrTwice(&body, roots[w.random.IntN(len(roots))], "Query", 2+w.random.IntN(3))
	}
	if w.chance(5) {
		body.WriteString(" __typename")
	}
	head := "query Random"
	if len(w.declared) > 0 {
		head += "(" + strings.Join(w.declared, ", ") + ")"
	}
	return operation{head + " {" + body.String() + " }\n" + strings.Join(w.fragments, "\n"), w.variables}
}

// chance is true once in n times on average.
func (w *writing) chance(n int) bool { return w.random.IntN(n) == 0 }

func (w *writing) selection(typeName string, depth int) string {
	definition := w.schema.Types[typeName]
	var body strings.Builder
	body.WriteString(" {")
	for range 1 + w.random.IntN(6) {
		w.fields++
		if w.fields > 120 {
			break
		}
		switch {
		case w.chance(14):
			body.WriteString(" " + w.alias() + "__typename" + w.directives())
		case w.chance(12):
			w.fragment(&body, typeName, depth)
		default:
			field := definition.Fields[w.random.IntN(len(definition.Fields))]
			if !strings.HasPrefix(field.Name, "__") && !slices.Contains(excludedFields, field.Name) {
				w.fieldOnceOrTwice(&body, field, typeName, depth)
			}
		}
	}
	// An object needs at least one field.
	body.WriteString(" " + w.alias() + "__typename }")
	return body.String()
}

// fieldOnceOrTwice sometimes writes the field a second time, under another alias and with other arguments. Plans share
// equal reads, and must not share others.
func (w *writing) fieldOnceOrTwice(body *strings.Builder, field *ast.FieldDefinition, typeName string, depth int) {
	w.field(body, field, typeName, depth)
	if len(field.Arguments) > 0 && w.chance(4) {
		w.field(body, field, typeName, depth)
	}
}

// fragment writes an inline or named fragment on the type, one of its interfaces or an implementing type.
func (w *writing) fragment(body *strings.Builder, typeName string, depth int) {
	on := append([]string{typeName}, w.schema.Types[typeName].Interfaces...)
	for _, possible := range w.schema.GetPossibleTypes(w.schema.Types[typeName]) {
		on = append(on, possible.Name)
	}
	target := on[w.random.IntN(len(on))]
	if w.chance(2) {
		fmt.Fprintf(body, " ... on %s%s%s", target, w.directives(), w.selection(target, depth-1))
		return
	}
	name := fmt.Sprintf("part%d", len(w.fragments))
	w.fragments = append(w.fragments, "") // reserves the fragment's index
	place := len(w.fragments) - 1
	w.fragments[place] = "fragment " + name + " on " + target + w.selection(target, depth-1)
	fmt.Fprintf(body, " ...%s%s", name, w.directives())
	if w.chance(3) {
		fmt.Fprintf(body, " ...%s", name)
	}
}

func (w *writing) alias() string {
	w.aliases++
	return fmt.Sprintf("a%d: ", w.aliases)
}

func (w *writing) directives() string {
	if !w.chance(9) {
		return ""
	}
	name := []string{"skip", "include"}[w.random.IntN(2)]
	condition := fmt.Sprint(w.chance(2))
	if w.chance(2) {
		condition = w.variable("Boolean!", w.chance(2))
	}
	return fmt.Sprintf(" @%s(if: %s)", name, condition)
}

// variable declares a variable with the value, sometimes as its default, and returns "$" and its name.
func (w *writing) variable(typeName string, value any) string {
	name := fmt.Sprintf("v%d", len(w.declared))
	declared := "$" + name + ": " + typeName
	if literal, ok := literalOf(value); ok && w.chance(3) {
		declared += " = " + literal
	} else {
		w.variables[name] = value
	}
	w.declared = append(w.declared, declared)
	return "$" + name
}

// enumValue is a literal without quotes.
type enumValue string

func literalOf(value any) (string, bool) {
	switch v := value.(type) {
	case bool, int, enumValue:
		return fmt.Sprint(v), true
	case string:
		return fmt.Sprintf("%q", v), true
	}
	return "", false
}

func (w *writing) field(body *strings.Builder, field *ast.FieldDefinition, parent string, depth int) {
	target := w.schema.Types[field.Type.Name()]
	isObject := target.Kind == ast.Object || target.Kind == ast.Interface
	if isObject && depth <= 0 {
		return
	}
	name := " "
	if len(field.Arguments) > 0 || w.chance(4) || parent == "Query" {
		name += w.alias()
	}
	body.WriteString(name + field.Name + w.arguments(field) + w.directives())
	if isObject {
		body.WriteString(w.selection(target.Name, depth-1))
	}
}

func (w *writing) arguments(field *ast.FieldDefinition) string {
	var given []string
	paged := w.random.IntN(5)
	for _, argument := range field.Arguments {
		value, typeName := any(nil), argument.Type.String()
		switch argument.Name {
		case "first":
			if w.chance(4) || paged == 3 && !w.chance(8) {
				continue // the default
			}
			value = []int{1, 2, 3, 5, 20, 100, 0}[min(w.random.IntN(40), 39)*7/40]
		case "after":
			if paged != 1 {
				continue
			}
			value = w.anyOf(w.cursors, field.Name)
		case "offset":
			if paged != 2 {
				continue
			}
			value = w.random.IntN(4)
		case "last":
			if paged != 3 {
				continue
			}
			value = []int{1, 2, 3, 100, 0}[min(w.random.IntN(20), 19)*5/20]
		case "before":
			if paged != 3 || w.chance(2) {
				continue
			}
			value = w.anyOf(w.cursors, field.Name)
		case "ids":
			value = []string{w.anyOf(w.ids, "agents"), w.anyOf(w.ids, "tools")}
		case "filter":
			if value = w.filter(argument.Type.Name()); value == nil {
				continue
			}
		default:
			if !argument.Type.NonNull && !w.chance(3) {
				continue
			}
			value = w.value(field.Name, argument)
		}
		if !argument.Type.NonNull && w.chance(12) {
			value = nil
		}
		given = append(given, argument.Name+": "+w.written(typeName, value))
	}
	if len(given) == 0 {
		return ""
	}
	return "(" + strings.Join(given, ", ") + ")"
}

// written returns a literal for a value, or a variable that it declares.
func (w *writing) written(typeName string, value any) string {
	if value == nil && w.chance(2) {
		return "null"
	}
	literal, ok := literalOf(value)
	if !ok || w.chance(2) {
		return w.variable(typeName, value)
	}
	return literal
}

// value returns a value for a filter or id argument.
func (w *writing) value(field string, argument *ast.ArgumentDefinition) any {
	definition := w.schema.Types[argument.Type.Name()]
	switch {
	case definition.Kind == ast.Enum:
		return enumValue(definition.EnumValues[w.random.IntN(len(definition.EnumValues))].Name)
	case definition.Name == "Boolean":
		return w.chance(2)
	case field == "__type":
		names := append(slices.Sorted(maps.Keys(w.schema.Types)), "Unknown")
		return names[w.random.IntN(len(names))]
	case argument.Name == "id":
		return w.anyOf(w.ids, field+"s")
	case strings.HasSuffix(argument.Name, "Id"):
		typeName := strings.TrimSuffix(argument.Name, "Id")
		if typeName != "agent" && typeName != "campaign" && typeName != "dataset" {
			typeName = "agentTest" + strings.ToUpper(typeName[:1]) + typeName[1:]
		}
		return w.anyOf(w.ids, strings.TrimSuffix(typeName, "Test")+"s")
	}
	return "text"
}

func (w *writing) anyOf(pool map[string][]string, list string) string {
	values := pool[list]
	if len(values) == 0 || w.chance(25) {
		values = append(slices.Concat(slices.Collect(maps.Values(pool))...), "unknown")
		slices.Sort(values)
	}
	return values[w.random.IntN(len(values))]
}

func (w *writing) filter(typeName string) any {
	switch typeName {
	case "AgentFilter":
		filter := map[string]any{}
		if w.chance(2) {
			filter["channel"] = []string{"Phone", "Web", "SMS"}[w.random.IntN(3)]
		}
		if w.chance(3) {
			filter["nameContains"] = []string{"a", "CL", "%", "zzz", ""}[w.random.IntN(5)]
		}
		if w.chance(3) {
			filter["tags"] = []string{"health"}
		}
		return filter
	case "AgentTestFilter":
		filter := map[string]any{}
		if w.chance(2) {
			filter["nameContains"] = []string{"a", "BOOK", "zzz"}[w.random.IntN(3)]
		}
		if w.chance(2) {
			filter["lastRunStatuses"] = [][]string{{"Passed"}, {"Failed", "Error"}, {}}[w.random.IntN(3)]
		}
		if w.chance(3) {
			filter["isFlaky"] = w.chance(2)
		}
		return filter
	case "AgentTestExecutionFilter":
		filter := map[string]any{}
		if w.chance(2) {
			filter["statuses"] = [][]string{{"Completed"}, {"Queued", "Running"}, {"Cancelling"}, {}}[w.random.IntN(4)]
		}
		if w.chance(2) {
			filter["verdicts"] = [][]string{{"Passed"}, {"Failed", "Error", "Inconclusive"}, {}}[w.random.IntN(3)]
		}
		return filter
	case "DocumentFilter":
		filter := map[string]any{}
		if w.chance(3) {
			filter["nameContains"] = []string{"a", "zzz"}[w.random.IntN(2)]
		}
		if w.chance(2) {
			filter["statuses"] = [][]string{{"Ready"}, {"Pending", "Ready"}, {}}[w.random.IntN(3)]
		}
		return filter
	case "NameFilter":
		return map[string]any{"nameContains": []string{"e", "ZZZ", ""}[w.random.IntN(3)]}
	case "CampaignItemFilter":
		filter := map[string]any{}
		if w.chance(3) {
			filter["phoneNumberPrefix"] = []string{"+1", "+33", "", "%"}[w.random.IntN(4)]
		}
		if w.chance(2) {
			filter["tag"] = []string{"Interested", "No answer", "none"}[w.random.IntN(3)]
		}
		if w.chance(3) {
			filter["afterVersion"] = []int{-1, 0, 3, 1_000}[w.random.IntN(4)]
		}
		return filter
	case "CampaignFilter":
		return map[string]any{"nameContains": []string{"e", "q"}[w.random.IntN(2)], "statuses": []string{"Running", "Draft"}}
	}
	return nil
}
