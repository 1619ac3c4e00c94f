package apply

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

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
