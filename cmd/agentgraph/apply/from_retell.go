package apply

import "fmt"

// fromRetell carries over definitions of simulation test cases, as Retell's API lists them.
func fromRetell(text []byte) (list, []string, error) {
	cases, err := casesIn(text, "items", "test_case_definitions")
	if err != nil {
		return nil, nil, err
	}
	c := &carriedTests{}
	for i, one := range cases {
		t := c.begin(one.text("name"), fmt.Sprintf("Retell test case %d", i+1))
		if t.scenario = placeholders(one.text("user_prompt")); t.scenario == "" {
			t.leave("the whole test", "it has no user_prompt")
			continue
		}
		for _, metric := range one.list("metrics") {
			t.criteria = append(t.criteria, cutTo(placeholders(shown(metric)), 2000))
		}
		if variables := one.object("dynamic_variables"); len(variables) > 0 {
			t.with("variables", variables)
		}
		if mocking := mockingOfRetell(t, one.list("tool_mocks")); len(mocking) > 0 {
			t.with("toolMocking", mocking)
		}
		if model := one.text("llm_model"); model != "" {
			t.leave("llm_model", "%s: the server says who plays the contact", model)
		}
		c.add(t)
	}
	return c.done()
}

// mockingOfRetell carries over mocks. Those with a result of yes or no are of transfers.
func mockingOfRetell(t *carried, mocks list) (mocking object) {
	var tools list
	for _, one := range mocks {
		mock, _ := one.(object)
		name := mock.text("tool_name")
		if result, isGiven := mock.get("result"); isGiven && result != nil {
			mocking = mocking.with("mockCallTransfer", true)
			if result == false {
				mocking = mocking.with("callTransferFailure", "Failed")
			}
			t.leave("the mock of "+name, "it is taken for the transfer of the call")
			continue
		}
		var when list
		for _, argument := range mock.object("input_match_rule").object("args") {
			when = append(when, object{{"argument", argument.name}, {"equals", shown(argument.value)}})
		}
		rule := object{{"resultTemplate", mock.text("output")}}
		if len(when) > 0 {
			rule = append(object{{"when", when}}, rule...)
		}
		tools = mockOf(tools, name, rule)
	}
	if len(tools) > 0 {
		mocking = mocking.with("mockedTools", tools)
	}
	return mocking
}
