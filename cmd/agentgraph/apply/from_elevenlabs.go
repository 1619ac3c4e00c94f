package apply

import (
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// elevenLabsKnown are members of a test that are imported, that only describe it, or that have notes of their own.
var elevenLabsKnown = []string{
	"id", "name", "type", "access_info", "last_updated_at_unix_secs", "created_at_unix_secs", "folder_id",
	"folder_parent_id", "entity_type",
	"chat_history", "dynamic_variables", "success_condition", "success_conditions", "success_examples", "failure_examples",
	"simulation_scenario", "simulation_max_turns", "tool_call_parameters", "check_any_tool_matches",
	"tool_mock_config", "tool_mock_overrides", "evaluation_model", "simulated_user_model", "environment",
	"simulation_environment",
}

// fromElevenLabs imports agent tests: simulations, and tests of the next reply or call.
func fromElevenLabs(c *importedTests) error {
	cases, at, err := c.cases("tests", "items")
	if err != nil {
		return err
	}
	for i, one := range cases {
		here := at.index(i)
		t := c.newTest(here, one.text("name"), fmt.Sprintf("ElevenLabs test %d", i+1))
		c.reportUnknown(t.name, one, here, elevenLabsKnown...)
		if variables := one.object("dynamic_variables"); len(variables) > 0 {
			t.setMember("variables", variables)
		}
		if messages := importMessages(t, one.list("chat_history"), "message"); len(messages) > 0 {
			t.setMember("conversationContext", fillVariables(messages, one.object("dynamic_variables")))
		}
		t.conditions(one)
		switch kind := one.text("type"); kind {
		case "simulation":
			t.scenario = convertPlaceholders(one.text("simulation_scenario"))
			turns, _ := one.get("simulation_max_turns")
			if most, isNumber := number(turns); isNumber {
				if most > model.MaxTurns {
					t.noteApproximated("simulation_max_turns", "%v is more than the maximum, %d", most, model.MaxTurns)
				}
				t.setMember("maxTurns", int64(max(1, min(model.MaxTurns, most))))
			} else {
				t.setMember("maxTurns", int64(5))
			}
		case "tool":
			t.calls(one)
			fallthrough
		case "llm", "":
			t.scenario = "You have said all you wanted to say."
			t.setMember("maxTurns", int64(1))
		default:
			t.drop("its type is %s", kind)
		}
		for _, name := range []string{"tool_mock_config", "tool_mock_overrides", "environment", "simulation_environment"} {
			if value, _ := one.get(name); value != nil && value != "" {
				t.at = here.member(name)
				t.noteLeftOut(name, "agentgraph has no equivalent, or has other names for tools")
			}
		}
		for _, name := range []string{"evaluation_model", "simulated_user_model"} {
			if value, _ := one.get(name); value != nil && value != "" {
				t.at = here.member(name)
				t.noteNotNeeded(name, "the server's settings choose the models of the judge and the contact")
			}
		}
		if t.scenario == "" {
			t.drop("it has no simulation_scenario")
		}
		c.addTest(t, here)
	}
	return nil
}

// conditions imports the conditions that a model judges, with their examples.
func (t *importedTest) conditions(test object) {
	conditions := list{}
	if text := test.text("success_condition"); text != "" {
		conditions = append(conditions, text)
	}
	for _, one := range test.list("success_conditions") {
		text, isText := one.(string)
		if o, isObject := one.(object); isObject {
			text = o.text("prompt") + o.text("conversation_goal_prompt")
			isText = text != ""
		}
		if isText {
			conditions = append(conditions, text)
		} else {
			t.noteLeftOut("success_conditions", "%s is not a string", asText(one))
		}
	}
	examples := ""
	for _, kind := range []string{"success", "failure"} {
		for _, one := range test.list(kind + "_examples") {
			response, _ := one.(object)
			examples += fmt.Sprintf("\nAn example of %s: %s", kind, response.text("response"))
		}
	}
	for _, condition := range conditions {
		t.addCriterion(convertPlaceholders(condition.(string)) + examples)
	}
	if len(conditions) == 0 && examples != "" {
		t.addCriterion("The agent's last message resembles the examples of success, not the examples of failure." + examples)
	}
}

// calls imports the expected tool call with its arguments, or the condition that the tool is not called.
func (t *importedTest) calls(test object) {
	wanted := test.object("tool_call_parameters")
	tool := wanted.object("referenced_tool")
	id := strings.ToLower(tool.text("id"))
	isAbsent, _ := wanted.get("verify_absence")
	call, expectation := object{}, "called"
	if isAbsent == true {
		expectation = "neverCalled"
	}
	switch {
	case id == "":
		t.noteLeftOut("tool_call_parameters", "the check names no tool")
		return
	case id == "end_call" && isAbsent == true:
		t.noteLeftOut("verify_absence of end_call", "no check requires that the agent does not end the conversation")
		return
	case id == "end_call":
		t.addCheck("endedBy", "Agent", nil)
		return
	case strings.HasPrefix(id, "transfer_to"):
		call = append(call, member{"kind", "CallTransfer"})
	default:
		call = append(call, member{"technicalName", id})
		if tool.text("type") != "system" {
			t.noteApproximated("the tool "+id, "the check names the tool by its id: write its technical name instead")
		}
	}
	var where list
	for _, one := range wanted.list("parameters") {
		parameter, _ := one.(object)
		path, eval := parameter.text("path"), parameter.object("eval")
		condition := object{{"argument", path}}
		switch eval.text("type") {
		case "exact":
			expected, _ := eval.get("expected_value")
			condition = append(condition, member{"equals", convertPlaceholders(asText(expected))})
		case "regex":
			condition = append(condition, member{"matches", eval.text("pattern")})
		case "anything":
			condition = append(condition, member{"present", true})
		case "llm":
			t.addCriterion(fmt.Sprintf("The agent calls %s with the argument %s, for which this holds: %s", id, path,
				eval.text("description")))
			condition = append(condition, member{"present", true})
		default:
			t.noteLeftOut("the parameter "+path, "the condition %s is not known", asText(eval))
			continue
		}
		where = append(where, condition)
	}
	t.addCheck(expectation, t.withWhere(call, "the tool "+id, where), nil)
	if only, isGiven := test.get("check_any_tool_matches"); isGiven && only == false && isAbsent != true {
		t.noteApproximated("check_any_tool_matches", "other calls do not fail the test")
	}
}
