package apply

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

var (
	expressionIn = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)
	bareName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$`)
	indexIn      = regexp.MustCompile(`\[\s*(?:(\d+)|"([^"\]]*)"|'([^'\]]*)')\s*\]`)
	commentIn    = regexp.MustCompile(`(?s)\{#.*?#\}`)
	codeIn       = regexp.MustCompile(`\{%-?\s*([a-z]*)`)
	loopIn       = regexp.MustCompile(`\{%-?\s*for\s+[\w\s,]+\s+in\s+(\w+)`)
)

// templateVariables fills promptfoo's templates, which are Nunjucks.
type templateVariables struct {
	// bag has the variables with the same value in all rows.
	bag object
	// rows are the variables that differ between rows. They remain in the text as placeholders.
	rows object
}

// fill fills the variables of a template. literal converts the text around the placeholders of a row. If it is nil,
// that text stays unchanged. Variables without a value become empty, as in promptfoo, and missing lists them. It is an
// error if an expression cannot be evaluated.
func (t templateVariables) fill(
	template string, literal func(string) string,
) (filled string, missing []string, err error) {
	if literal == nil {
		literal = func(text string) string { return text }
	}
	template = commentIn.ReplaceAllString(template, "")
	if code := codeIn.FindStringSubmatch(template); code != nil {
		return "", nil, fmt.Errorf("its template code {%% %s … %%} is not evaluated", code[1])
	}
	var out strings.Builder
	end := 0
	for _, at := range expressionIn.FindAllStringSubmatchIndex(template, -1) {
		out.WriteString(literal(template[end:at[0]]))
		end = at[1]
		expression := template[at[2]:at[3]]
		name, filters := splitFilters(expression)
		root, _, _ := strings.Cut(name, ".")
		if _, isRow := t.rows.get(root); isRow && bareName.MatchString(name) {
			if len(filters) > 0 {
				return "", nil, fmt.Errorf("the filter of {{ %s }} is not evaluated in a test with rows", expression)
			}
			out.WriteString("{" + name + "}")
			continue
		}
		value, isKnown, err := t.evaluate(expression, name, filters)
		if err != nil {
			return "", nil, err
		}
		if !isKnown {
			missing = append(missing, name)
		}
		out.WriteString(literal(value))
	}
	out.WriteString(literal(template[end:]))
	return out.String(), missing, nil
}

func splitFilters(expression string) (name string, filters []string) {
	parts := strings.Split(expression, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	name = indexIn.ReplaceAllString(parts[0], ".$1$2$3")
	return name, parts[1:]
}

// evaluate returns the value of an expression: a variable or a path into one, and a few filters.
func (t templateVariables) evaluate(expression, name string, filters []string) (text string, isKnown bool, err error) {
	if !bareName.MatchString(name) || strings.HasPrefix(name, "env.") {
		return "", false, fmt.Errorf("the expression {{ %s }} is not evaluated", expression)
	}
	value, isKnown := valueAtPath(t.bag, name)
	if !isKnown {
		return "", false, nil
	}
	text = asText(value)
	for _, filter := range filters {
		switch filter {
		case "dump", "tojson":
			written, err := json.Marshal(value)
			if err != nil {
				return "", false, err
			}
			text = string(written)
		case "lower":
			text = strings.ToLower(text)
		case "upper":
			text = strings.ToUpper(text)
		case "trim":
			text = strings.TrimSpace(text)
		case "safe":
		default:
			return "", false, fmt.Errorf("the filter %s of {{ %s }} is not evaluated", filter, expression)
		}
	}
	return text, true, nil
}

// valueAtPath returns the value at a path with dots.
func valueAtPath(value any, path string) (found any, isKnown bool) {
	for step := range strings.SplitSeq(path, ".") {
		if value, isKnown = childValue(value, step); !isKnown {
			return nil, false
		}
	}
	return value, true
}

// childValue returns a member of an object, or an entry of a list.
func childValue(value any, step string) (any, bool) {
	switch v := value.(type) {
	case object:
		return v.get(step)
	case list:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// maxNesting bounds the passes that fill variables into each other. The last pass must change nothing. maxFilled bounds
// the length of a filled variable, in bytes.
const (
	maxNesting = 10
	maxFilled  = 1 << 20
)

// resolveVariables fills in variables in the values of other variables. missing lists the variables without a value.
func resolveVariables(bag object) (settled object, missing []string, err error) {
	for range maxNesting {
		isSettled := true
		settled = make(object, len(bag))
		for i, m := range bag {
			settled[i] = m
			text, isText := m.value.(string)
			if !isText || !strings.Contains(text, "{{") && !codeIn.MatchString(text) && !commentIn.MatchString(text) {
				continue
			}
			filled, unknown, err := templateVariables{bag: bag.without(m.name)}.fill(text, nil)
			missing = append(missing, unknown...)
			if err != nil {
				return nil, nil, fmt.Errorf("vars.%s: %w", m.name, err)
			}
			if len(filled) > maxFilled {
				return nil, nil, fmt.Errorf("vars.%s: it has more than %d bytes after its variables are filled in", m.name,
					maxFilled)
			}
			settled[i].value, isSettled = filled, false
		}
		bag = settled
		if isSettled {
			return bag, missing, nil
		}
	}
	return nil, nil, fmt.Errorf("vars: variables still refer to each other after they were filled in %d times", maxNesting)
}

// maxVariable is the maximum length of a variable, in characters.
const maxVariable = 10_000

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// importVars imports the variables. Each combination of values from lists of texts becomes a row, up to model.MaxRows.
// It returns false if the test is dropped.
func (t *promptfooTest) importVars() bool {
	bags, all := []object{{}}, 1.0
	given, _ := t.test.get("vars")
	at := t.at.member("vars")
	if name, isText := given.(string); isText {
		given = t.p.loadReferenced(name, "vars", &at)
	}
	if isUnresolved(given) {
		t.drop("vars: the target of their $ref does not exist")
		return false
	}
	together, _ := given.(object)
	isWhole, _ := t.test.object("options").get("disableVarExpansion")
	for _, m := range together {
		value, problem := t.readVariable(m.value)
		if problem != "" {
			t.drop("vars.%s: %s", m.name, problem)
			return false
		}
		values, _ := value.(list)
		if len(values) == 0 || isWhole == true || !isText(values[0]) {
			values = list{value}
		}
		var combined []object
		for _, bag := range bags {
			for _, one := range values {
				if len(combined) < model.MaxRows {
					combined = append(combined, bag.with(m.name, one))
				}
			}
		}
		bags, all = combined, all*float64(len(values))
	}
	if all > model.MaxRows {
		t.noteLeftOut("vars", "of %.0f combinations of values, only the first %d are kept", all, model.MaxRows)
	}
	for i, bag := range bags {
		settled, missing, err := resolveVariables(bag)
		if err != nil {
			t.drop("%v", err)
			return false
		}
		if !t.reportMissing("vars", missing) {
			t.drop("its variables cannot be filled in")
			return false
		}
		bags[i] = settled
	}
	t.split(bags)
	return true
}

func isText(value any) bool {
	_, isText := value.(string)
	return isText
}

// readVariable returns the value of a variable, which may be in a file, or why it cannot be read.
func (t *promptfooTest) readVariable(value any) (any, string) {
	if isUnresolved(value) {
		return nil, "the target of its $ref does not exist"
	}
	name, isText := value.(string)
	if !isText || !strings.HasPrefix(name, "file://") {
		return value, ""
	}
	file, text, problem := t.p.file(name)
	if problem != "" {
		return nil, problem
	}
	if ending := filepath.Ext(file); ending == ".json" || ending == ".yaml" || ending == ".yml" {
		if value, err := decoded(text); err == nil {
			return value, ""
		}
	}
	return strings.TrimSpace(string(text)), ""
}

// split turns values that all rows share into variables, and all others into rows.
func (t *promptfooTest) split(bags []object) {
	for _, m := range bags[0] {
		isSame := !slices.ContainsFunc(bags, func(bag object) bool {
			value, _ := bag.get(m.name)
			return !isEqual(value, m.value)
		})
		if isSame {
			t.texts.bag = append(t.texts.bag, m)
		} else {
			t.texts.rows = append(t.texts.rows, m)
		}
	}
	var named object
	for _, m := range t.texts.bag {
		switch {
		case m.value == nil:
		case !variableName.MatchString(m.name) || len([]rune(asText(m.value))) > maxVariable:
			t.noteNotNeeded("vars."+m.name,
				"its value is inserted into the texts, because it is too long for a variable of the "+
					"agent or its name is not allowed")
		default:
			named = append(named, m)
		}
	}
	if len(named) > 0 && t.turn == 0 {
		t.setMember("variables", named)
	}
	if len(t.texts.rows) == 0 {
		return
	}
	rows := list{}
	for _, bag := range bags {
		values := object{}
		for _, m := range t.texts.rows {
			value, _ := bag.get(m.name)
			values = append(values, member{m.name, value})
		}
		if !slices.ContainsFunc(rows, func(row any) bool { return isEqual(row.(object).object("values"), values) }) {
			rows = append(rows, object{{"values", values}})
		}
	}
	t.setMember("rows", rows)
}
