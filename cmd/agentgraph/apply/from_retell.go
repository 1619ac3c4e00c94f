package apply

import (
	"fmt"
	"strings"
)

// fromRetell imports simulation test cases in the format of Retell's API.
func fromRetell(c *importedTests) error {
	cases, at, err := c.cases("items", "test_case_definitions")
	if err != nil {
		return err
	}
	for i, one := range cases {
		here := at.index(i)
		t := c.newTest(here, one.text("name"), fmt.Sprintf("Retell test case %d", i+1))
		c.reportUnknown(t.name, one, here, "test_case_definition_id", "type", "name", "response_engine", "user_prompt",
			"metrics", "dynamic_variables", "tool_mocks", "llm_model", "creation_timestamp", "user_modified_timestamp")
		if kind := one.text("type"); kind != "" && kind != "simulation" {
			t.drop("its type is %s", kind)
		}
		if t.scenario = convertPlaceholders(one.text("user_prompt")); t.scenario == "" {
			t.drop("it has no user_prompt")
		}
		t.at = here.member("metrics")
		for _, metric := range one.list("metrics") {
			t.addCriterion(convertPlaceholders(asText(metric)))
		}
		if variables := one.object("dynamic_variables"); len(variables) > 0 {
			t.setMember("variables", variables)
		}
		if mocking := mockingOfRetell(t, one.list("tool_mocks"), here.member("tool_mocks")); len(mocking) > 0 {
			t.setMember("toolMocking", mocking)
		}
		t.at = here.member("response_engine")
		if _, isGiven := one.get("response_engine"); isGiven {
			t.noteNotNeeded("response_engine", "the agent answers instead")
		}
		if model := one.text("llm_model"); model != "" {
			t.at = here.member("llm_model")
			t.noteNotNeeded("llm_model", "%s is ignored: the server's --contact-model plays the contact", model)
		}
		c.addTest(t, here)
	}
	return nil
}

// mockingOfRetell imports mocks. A mock with an output is for a tool. A mock with only a boolean result is for a
// transfer, if its name says so.
func mockingOfRetell(t *importedTest, mocks list, at position) (mocking object) {
	var tools list
	for i, one := range mocks {
		mock, _ := one.(object)
		t.at = at.index(i)
		t.importer.reportUnknown(t.name+": a mock", mock, t.at, "tool_name", "input_match_rule", "output", "result")
		name := mock.text("tool_name")
		result, _ := mock.get("result")
		output, hasOutput := mock.get("output")
		hasOutput = hasOutput && output != nil && output != ""
		if result != nil && !hasOutput && strings.Contains(strings.ToLower(name), "transfer") {
			mocking = mocking.with("mockCallTransfer", true)
			if result == false {
				mocking = mocking.with("callTransferFailure", "Failed")
			}
			t.noteApproximated("the mock of "+name, "it becomes a mock of the call transfer")
			continue
		}
		rule := object{{"resultTemplate", asText(output)}}
		switch {
		case result == false && hasOutput:
			t.noteApproximated("the mock of "+name, "its result false is ignored: the agent sees only its output")
		case result == false:
			rule = object{{"failure", object{{"kind", "HttpError"}}}}
		case !hasOutput:
			rule = object{}
			t.noteApproximated("the mock of "+name, "it has no output, so the mock returns that the call succeeded")
		}
		if when := t.whenOfRetell(name, mock.object("input_match_rule")); len(when) > 0 {
			rule = append(object{{"when", when}}, rule...)
		}
		tools = mockOf(tools, name, rule)
	}
	if len(tools) > 0 {
		mocking = mocking.with("mockedTools", tools)
	}
	return mocking
}

// whenOfRetell returns a mock's conditions on the arguments.
func (t *importedTest) whenOfRetell(name string, rule object) (when list) {
	if kind := rule.text("type"); kind != "" && kind != "any" && kind != "partial_match" {
		t.noteApproximated("the mock of "+name,
			"its input_match_rule %s becomes partial_match: arguments that the rule does not name are ignored", kind)
	}
	for _, argument := range rule.object("args") {
		when = append(when, object{{"argument", argument.name}, {"equals", asText(argument.value)}})
	}
	return when
}
