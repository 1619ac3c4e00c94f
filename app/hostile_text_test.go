package app_test

import (
	"fmt"
	"strings"
)

const question = "When do you open on Sundays in winter, and what does it cost to park, to pay, to return or to " +
	"repair a dehumidifier?"

const (
	wholeSchema   = `__schema { queryType { name } types { ...FullType } directives { name description locations args { ...InputValue } } }`
	ofWholeSchema = `
fragment FullType on __Type { kind name description fields(includeDeprecated: true) { name description args {
		...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
	inputFields { ...InputValue } interfaces { ...TypeRef } enumValues(includeDeprecated: true) { name description
		isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
		ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`
)

// fragments returns n fragments. Each spreads the next one twice.
func fragments(n int) string {
	text := "{ ...f0 }"
	for i := range n {
		text += fmt.Sprintf(" fragment f%d on Query { a: agents { nodes { id } } ...f%d ...f%d }", i, i+1, i+1)
	}
	return text + fmt.Sprintf(" fragment f%d on Query { agents { totalCount } }", n)
}

type values = map[string]any

const (
	toolWith   = `mutation ($name: String! = "a", $schema: JSONObject) { createTool(input: {name: $name, technicalName: "a", parameters: $schema}) { tool { id } } }`
	withChecks = `mutation ($checks: [TestCheckInput!]!) { createSimulationTest(input: {agentId: "AGENT", name: "a",
		scenario: "a", criteria: [], checks: $checks}) { agentTest { id } } }`
	addItems = `mutation ($items: [CampaignItemInput!]!) { addCampaignItems(input: {campaignId: "CAMPAIGN",
		items: $items}) { items { id } } }`
)

// unfolding returns a JSON Schema whose definitions each refer to the next one twice.
func unfolding(n int) string {
	var parts strings.Builder
	for i := range n {
		fmt.Fprintf(&parts, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{%s"d%d":{}}}`, parts.String(), n)
}

func repeated(n int, value any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = value
	}
	return all
}

func wide(n int) values {
	all := values{}
	for i := range n {
		all[fmt.Sprint(i)] = 1
	}
	return all
}

func variables(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, " $v%d: Int", i)
	}
	return all.String()
}
