package apply

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// fromTau2Bench imports the tasks of a tau2-bench domain.
func fromTau2Bench(c *importedTests) error {
	tasks, at, err := c.cases("tasks")
	if err != nil {
		return err
	}
	writes := writesOf(tasks)
	for i, task := range tasks {
		id, _ := task.get("id")
		name := fmt.Sprintf("Task %d", i+1)
		if id != nil {
			name = "Task " + asText(id)
		}
		if purpose := firstLine(task.object("description").text("purpose"), 200); purpose != "" {
			name += ": " + purpose
		}
		here := at.index(i)
		t := c.newTest(here, name, name)
		c.reportUnknown(t.name, task, here, "id", "description", "user_scenario", "ticket", "initial_state",
			"evaluation_criteria", "annotations", "issues", "user_tools", "required_documents")
		for _, part := range []string{"ticket", "annotations", "issues", "required_documents"} {
			if value, _ := task.get(part); value != nil {
				t.noteNotNeeded(part, "it is for readers, or for runs without a user")
			}
		}
		if tools := task.list("user_tools"); len(tools) > 0 {
			t.noteLeftOut("user_tools", "the contact of agentgraph cannot call tools")
		}
		if t.scenario = scenarioOfTask(task.object("user_scenario")); t.scenario == "" {
			t.drop("it has no user_scenario")
		}
		t.beginning(task.object("initial_state"))
		if criteria := task.object("evaluation_criteria"); criteria != nil {
			t.evaluation(criteria, writes)
		} else {
			t.drop("it has no evaluation_criteria, so every conversation would pass")
		}
		if len(t.checks)+len(t.criteria) > 0 {
			// A conversation that does not end has no reward.
			t.addCheck("turnsAtMost", int64(model.MaxTurns-1), nil)
		}
		t.setMember("maxTurns", int64(model.MaxTurns))
		c.addTest(t, here)
	}
	return nil
}

// beginning imports the state before the conversation.
func (t *importedTest) beginning(start object) {
	t.at = t.at.member("initial_state")
	for _, part := range []string{"initialization_data", "initialization_actions"} {
		if value, _ := start.get(part); value != nil {
			t.noteLeftOut("initial_state."+part, "agentgraph has no access to the state behind tools: mock the tools")
		}
	}
	if messages := importMessages(t, start.list("message_history"), "content"); len(messages) > 0 {
		t.setMember("conversationContext", messages)
	}
	t.at.path = strings.TrimSuffix(t.at.path, "/initial_state")
}

// scenarioOfTask returns the instructions of the simulated user.
func scenarioOfTask(user object) string {
	var parts []string
	add := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, title+text)
		}
	}
	add("", user.text("persona"))
	add("", user.text("instructions"))
	instructions := user.object("instructions")
	add("", instructions.text("task_instructions"))
	add("Why you call: ", instructions.text("reason_for_call"))
	add("What you know: ", instructions.text("known_info"))
	add("What you do not know: ", instructions.text("unknown_info"))
	return strings.Join(parts, "\n\n")
}

// tau2Writes are the tools of tau2-bench's domains that change the database, by domain.
var tau2Writes = map[string]string{
	"airline": "book_reservation cancel_reservation send_certificate update_reservation_baggages " +
		"update_reservation_flights update_reservation_passengers",
	"retail": `cancel_pending_order exchange_delivered_order_items modify_pending_order_address modify_pending_order_items modify_pending_order_payment
		modify_user_address return_delivered_order_items`,
	"telecom": "suspend_line resume_line send_payment_request enable_roaming disable_roaming refuel_data",
	"mock":    "create_task update_task_status",
}

// readsOnly matches tool names that change nothing.
var readsOnly = regexp.MustCompile(
	`^(browse|calculate|check|compare|compute|count|describe|display|estimate|fetch|find|get|has|inspect|is|list|look|lookup|query|` +
		`read|retrieve|search|show|summarize|think|validate|verify|view)(_|[A-Z]|$)|^transfer_to_human|^(KB|kb|grep|shell)`)

// writesOf returns the tools that change the database: all such tools of the tasks' domains, and other tools in the
// tasks whose names do not sound like reads.
func writesOf(tasks []object) (writes []string) {
	for _, task := range tasks {
		for _, one := range task.object("evaluation_criteria").list("actions") {
			action, _ := one.(object)
			name := action.text("name")
			if action.text("requestor") == "user" || readsOnly.MatchString(name) {
				continue
			}
			writes = append(append(writes, name), writesBeside(name)...)
		}
		domain := task.object("user_scenario").object("instructions").text("domain")
		writes = append(writes, strings.Fields(tau2Writes[domain])...)
	}
	slices.Sort(writes)
	return slices.Compact(writes)
}

// evaluation imports the criteria of a task that its reward_basis selects.
func (t *importedTest) evaluation(criteria object, writes []string) {
	at := t.at.member("evaluation_criteria")
	t.importer.reportUnknown(t.name, criteria, at, "actions", "communicate_info", "nl_assertions", "env_assertions",
		"reward_basis")
	basis := t.rewardBasis(criteria, at.member("reward_basis"))
	counts := func(kind string) bool { return slices.Contains(basis, any(kind)) }
	var gold []object
	for i, one := range criteria.list("actions") {
		t.at = at.member("actions").index(i)
		action, _ := one.(object)
		requestor := action.text("requestor")
		switch {
		case requestor != "" && requestor != "assistant" && (counts("DB") || counts("ACTION")):
			t.noteLeftOut("action "+action.text("name"), "the contact of agentgraph cannot call tools")
		case requestor == "" || requestor == "assistant":
			gold = append(gold, action)
		}
	}
	t.at = at.member("actions")
	if counts("DB") {
		t.checkExactWrites(gold, writes)
	}
	if counts("ACTION") {
		t.required(gold)
	}
	t.at = at.member("communicate_info")
	for _, info := range criteria.list("communicate_info") {
		if counts("COMMUNICATE") {
			t.addCheck("says", object{{"matches", looseNumberPattern(asText(info))}}, nil)
		}
	}
	t.at = at.member("nl_assertions")
	for _, assertion := range criteria.list("nl_assertions") {
		if counts("NL_ASSERTION") {
			t.addCriterion(convertPlaceholders(asText(assertion)))
		}
	}
	t.at = at.member("env_assertions")
	if len(criteria.list("env_assertions")) > 0 && counts("ENV_ASSERTION") {
		t.noteLeftOut("env_assertions", "agentgraph has no access to the state behind tools")
	}
	for _, rewarded := range [][2]string{{"communicate_info", "COMMUNICATE"}, {"nl_assertions", "NL_ASSERTION"},
		{"env_assertions", "ENV_ASSERTION"}} {
		if t.at = at.member(rewarded[0]); len(criteria.list(rewarded[0])) > 0 && !counts(rewarded[1]) {
			t.noteNotNeeded(rewarded[0], "reward_basis does not count it")
		}
	}
}

// rewardBasis returns the kinds of criteria that count for the reward of a task.
func (t *importedTest) rewardBasis(criteria object, at position) list {
	value, _ := criteria.get("reward_basis")
	basis, isList := value.(list)
	if value == nil {
		return list{"DB", "COMMUNICATE"}
	}
	if !isList {
		basis = list{value}
	}
	t.at = at
	for _, kind := range basis {
		if !slices.Contains(list{"DB", "ACTION", "COMMUNICATE", "NL_ASSERTION", "ENV_ASSERTION"}, kind) {
			t.noteLeftOut("reward_basis "+asText(kind), "agentgraph has no equivalent")
		}
	}
	return basis
}

// looseNumberPattern returns a regular expression that matches a text as tau2-bench does. It ignores case, and commas
// in numbers are optional.
func looseNumberPattern(text string) string {
	return "(?i)" + digitPairs.ReplaceAllStringFunc(regexp.QuoteMeta(text), func(digits string) string {
		return strings.Join(strings.Split(digits, ""), ",?")
	})
}

var digitPairs = regexp.MustCompile(`[0-9]{2,}`)

// checkExactWrites adds checks that the agent makes the same writes as the reference solution, each equally often, and
// no others. A check ignores arguments that it does not name, so it also counts the solution's calls with additional
// arguments. Failed calls of the solution's tools do not count. Reads are not checked.
func (t *importedTest) checkExactWrites(gold []object, writes []string) {
	for _, name := range writes {
		var actions, expectedCalls []object
		for _, action := range gold {
			if action.text("name") == name {
				actions, expectedCalls = append(actions, action), append(expectedCalls, t.callOf(action, nil))
			}
		}
		if len(expectedCalls) == 0 {
			t.addCheck("neverCalled", object{{"technicalName", name}}, nil)
			continue
		}
		for i, call := range expectedCalls {
			same := 0
			for _, action := range actions {
				if meets(action, call.list("where")) {
					same++
				}
			}
			if slices.IndexFunc(expectedCalls, func(other object) bool { return isEqual(other, call) }) == i {
				t.addCheck("called", append(slices.Clip(call), times(same)...), nil)
			}
		}
		t.addCheck("called", append(object{{"technicalName", name}}, times(len(expectedCalls))...), nil)
	}
	t.noteApproximated("the state of the database",
		"the calls that write are compared one by one, not the resulting state")
	isKnown := func(name string) bool { return writesBeside(name) != nil }
	if guessed := slices.DeleteFunc(slices.Clone(writes), isKnown); len(guessed) > 0 {
		t.noteApproximated("the tools that change data", "judging by their names, these tools change "+
			"data: "+strings.Join(guessed, ", "))
	}
}

// meets reports whether the arguments of an action meet the conditions of a call.
func meets(action object, where list) bool {
	return !slices.ContainsFunc(where, func(one any) bool {
		condition := one.(object)
		value, isGiven := action.object("arguments").get(condition.text("argument"))
		return !isGiven || asText(value) != condition.text("equals")
	})
}

// times are the fields of a check that expects n calls that succeed.
func times(n int) object { return object{{"succeeded", true}, {"min", int64(n)}, {"max", int64(n)}} }

// writesBeside returns the tools of a tau2-bench domain that change the database, if the named tool is one of them.
func writesBeside(name string) []string {
	for _, toolset := range tau2Writes {
		if tools := strings.Fields(toolset); slices.Contains(tools, name) {
			return tools
		}
	}
	return nil
}

// required adds checks that the agent makes each call of the reference solution.
func (t *importedTest) required(gold []object) {
	for _, action := range gold {
		compared, _ := action.get("compare_args")
		chosen, _ := compared.(list)
		if compared != nil && chosen == nil {
			chosen = list{}
		}
		t.addCheck("called", t.callOf(action, chosen), nil)
	}
}

// callOf returns a call with the arguments of an action. If chosen is not nil, the call has only the arguments in
// chosen.
func (t *importedTest) callOf(action object, chosen list) object {
	var where list
	for _, argument := range action.object("arguments") {
		if chosen == nil || slices.Contains(chosen, any(argument.name)) {
			where = append(where, object{{"argument", argument.name}, {"equals", asText(argument.value)}})
		}
	}
	return t.withWhere(object{{"technicalName", action.text("name")}}, "action "+action.text("name"), where)
}

// withWhere returns a call with conditions on its arguments, at most 20.
func (t *importedTest) withWhere(call object, owner string, where list) object {
	if len(where) > 20 {
		t.noteApproximated(owner, "of its %d arguments, only the first 20 are compared", len(where))
		where = where[:20]
	}
	if len(where) > 0 {
		call = append(call, member{"where", where})
	}
	return call
}
