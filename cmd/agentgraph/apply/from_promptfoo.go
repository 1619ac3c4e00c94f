package apply

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// simulatedUser is the promptfoo provider that plays a user.
const simulatedUser = "promptfoo:simulated-user"

// fromPromptfoo imports a promptfoo configuration, or a list of its tests.
func fromPromptfoo(c *importedTests) error {
	p := &promptfoo{importedTests: c}
	value, at, err := p.load(c.name)
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case list:
		p.collect(v, at)
	case object:
		p.configuration(v, at)
	default:
		return errors.New("is neither a promptfoo configuration nor a list of promptfoo tests")
	}
	p.importCases()
	return nil
}

// promptfoo is a configuration that is being imported.
type promptfoo struct {
	*importedTests
	prompts    []promptfooPrompt
	defaults   object
	defaultsAt position
	cases      []promptfooCase
	// loading has the files whose references are being resolved.
	loading map[string]bool
	// outputs are the variables that hold outputs of other tests.
	outputs []string
}

// promptfooCase is a test without the defaults.
type promptfooCase struct {
	test object
	at   position
}

// promptfooSettings are settings of promptfoo itself, which no test needs.
var promptfooSettings = []string{
	"$schema", "description", "tags", "author", "metadata", "env", "sharing", "outputPath", "writeLatestResults",
	"commandLineOptions", "tracing",
}

func (p *promptfoo) configuration(config object, at position) {
	known := append([]string{"prompts", "tests", "defaultTest", "scenarios", "assertionTemplates", "providers", "targets"},
		promptfooSettings...)
	if _, isGiven := config.get("redteam"); isGiven {
		p.report.addNote(leftOut, at.member("redteam"), "the configuration", "redteam: promptfoo generates these tests at "+
			"run time")
	}
	p.reportUnknown("the configuration", config, at, append(known, "redteam")...)
	for _, m := range config {
		switch {
		case m.name == "providers" || m.name == "targets":
			p.report.addNote(notNeeded, at.member(m.name), "the configuration", "%s: the agent answers instead", m.name)
			p.providers(m.value, at.member(m.name))
		case slices.Contains(promptfooSettings, m.name) && m.name != "$schema":
			p.report.addNote(notNeeded, at.member(m.name), "the configuration", "%s: it does not affect tests", m.name)
		}
	}
	p.defaultsAt = at.member("defaultTest")
	defaults, _ := config.get("defaultTest")
	if name, isText := defaults.(string); isText {
		defaults = p.loadReferenced(name, "defaultTest", &p.defaultsAt)
	}
	p.defaults, _ = defaults.(object)
	prompts, _ := config.get("prompts")
	p.readPrompts(prompts, at.member("prompts"))
	tests, _ := config.get("tests")
	p.collect(tests, at.member("tests"))
	scenarios, _ := config.get("scenarios")
	p.scenarios(scenarios, at.member("scenarios"))
}

// providers reports settings of providers that change their answers.
func (p *promptfoo) providers(value any, at position) {
	all, _ := value.(list)
	for i, one := range all {
		provider, _ := one.(object)
		for _, name := range []string{"transform", "prompts"} {
			if _, isGiven := provider.get(name); isGiven {
				p.report.addNote(leftOut, at.index(i).member(name), "the configuration",
					"%s of a provider is ignored: the agent answers", name)
			}
		}
	}
}

// collect gathers tests from a list, a file, or an object that names a file. Entries of a list may be files too.
func (p *promptfoo) collect(value any, at position) {
	switch v := value.(type) {
	case list:
		for i, one := range v {
			if test, isObject := one.(object); isObject {
				if _, isFile := test.get("path"); !isFile {
					p.cases = append(p.cases, promptfooCase{test, at.index(i)})
					continue
				}
			}
			p.collect(one, at.index(i))
		}
	case string:
		p.collectFile(v, at)
	case object:
		name := v.text("path")
		p.reportUnknown(name, v, at, "path")
		p.collectFile(name, at)
	case nil, unresolved:
	default:
		p.report.addNote(leftOut, at, "the configuration", "tests: %s is neither a test nor a file", asText(value))
	}
}

// collectFile gathers the tests of another file.
func (p *promptfoo) collectFile(name string, at position) {
	file := filepath.Clean(strings.TrimPrefix(name, "file://"))
	if problem := unreadableReason(name); problem != "" {
		p.report.addNote(leftOut, at, "the configuration", "tests: %s %s", name, problem)
		return
	}
	var err error
	switch strings.ToLower(filepath.Ext(file)) {
	case ".csv":
		err = p.collectCSV(file)
	case ".jsonl":
		err = p.collectLines(file)
	default:
		var value any
		var inside position
		if value, inside, err = p.load(file); err != nil {
			break
		}
		if whole, isObject := value.(object); isObject {
			if inner, hasTests := whole.get("tests"); hasTests {
				value, inside = inner, inside.member("tests")
				p.reportUnknown(file, whole, position{inside.in, ""}, "tests")
			}
		}
		if _, isText := value.(string); isText {
			err = fmt.Errorf("%s contains no tests", file)
			break
		}
		if one, isObject := value.(object); isObject {
			value = list{one}
		}
		p.collect(value, inside)
	}
	if err != nil {
		p.report.addNote(leftOut, at, "the configuration", "tests: %v", err)
	}
}

// scenarios gathers the tests of scenarios: each test with each set of data.
func (p *promptfoo) scenarios(value any, at position) {
	if name, isText := value.(string); isText {
		value = p.loadReferenced(name, "scenarios", &at)
	}
	all, _ := value.(list)
	for i, one := range all {
		here := at.index(i)
		if name, isText := one.(string); isText {
			inner := p.loadReferenced(name, "scenarios", &here)
			if several, isList := inner.(list); isList {
				p.scenarios(several, here)
				continue
			}
			one = inner
		}
		scenario, _ := one.(object)
		p.reportUnknown("a scenario", scenario, here, "description", "config", "tests")
		outer := p.cases
		p.cases = nil
		tests, _ := scenario.get("tests")
		p.collect(tests, here.member("tests"))
		inner := p.cases
		p.cases = outer
		config, _ := scenario.get("config")
		configAt := here.member("config")
		if name, isText := config.(string); isText {
			config = p.loadReferenced(name, "config", &configAt)
		}
		data, _ := config.(list)
		for _, with := range data {
			shared, _ := with.(object)
			for _, one := range inner {
				merged := merge(shared, one.test).with("assert", slices.Concat(shared.list("assert"), one.test.list("assert")))
				if title := scenario.text("description"); title != "" {
					merged = merged.with("description", strings.TrimSuffix(title+": "+merged.text("description"), ": "))
				}
				p.cases = append(p.cases, promptfooCase{merged, one.at})
			}
		}
		if len(data) == 0 || len(inner) == 0 {
			p.report.addNote(leftOut, here, "a scenario", "it has no config, or no readable tests")
		}
	}
}

// merge returns a test with the members of under and over. Members of over take precedence, but variables, options and
// metadata are merged.
func merge(under, over object) object {
	merged := slices.Clone(under)
	for _, m := range over {
		value := m.value
		if slices.Contains([]string{"vars", "options", "metadata"}, m.name) {
			inner := slices.Clone(under.object(m.name))
			for _, one := range over.object(m.name) {
				inner = inner.with(one.name, one.value)
			}
			if len(inner) > 0 {
				value = inner
			}
		}
		merged = merged.with(m.name, value)
	}
	return merged
}
