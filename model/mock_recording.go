package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type mockRecorder struct {
	recording *ChatRecording
	// upTo is the last message before the test begins. The calls that answer this message are the first that the test
	// can make.
	upTo int32
	warn func(string, ...any)
}

// recordedCall is a call that a mock can repeat.
type recordedCall struct {
	arguments map[string]any
	// key is a canonical text of the arguments.
	key     string
	outcome outcome
	// number is the index of the call among its target's repeatable calls after the start of the test. It is -1 for calls
	// before the start.
	number int32
}

// outcome is the outcome of a call: a failure, or a result as a template.
type outcome struct {
	template string
	failed   bool
	kind     MockFailureKind
	status   int32
	body     string
}

func (o outcome) rule(when []MockCondition, callIndex *int32) MockRule {
	rule := MockRule{When: when, CallIndex: callIndex}
	if !o.failed {
		rule.ResultTemplate = &o.template
		return rule
	}
	rule.Failure = &MockFailure{Kind: o.kind}
	if o.status != 0 {
		rule.Failure.Status = &o.status
	}
	if o.body != "" {
		rule.Failure.Body = &o.body
	}
	return rule
}

// mocking returns the chat's own mocking. For all other targets that were called, it adds mocks with the recorded
// outcomes. It denies all further calls. It warns about targets and calls that it leaves out.
func (r *mockRecorder) mocking() *ToolMocking {
	mocking := r.connected()
	var order []string
	byTarget := map[string][]*ToolCall{}
	searched := false
	for _, call := range r.recording.Calls {
		switch {
		case call.Mocked || !call.IsTurnKept || call.MessageSequence > r.recording.Chat.LastSequence:
		case call.Kind == ToolCallKindTool && call.Error != nil && mocking.Denies(): // the test denies it as well
		case call.DelegationID != nil: // a part of the sub-agent's answer
		case call.Kind == ToolCallKindRetrieval:
			searched = true
		case call.Kind == ToolCallKindCallTransfer:
			mocking.MockCallTransfer = mocking.MockCallTransfer || call.Error == nil
		case call.TargetID != nil:
			if byTarget[*call.TargetID] == nil {
				order = append(order, *call.TargetID)
			}
			byTarget[*call.TargetID] = append(byTarget[*call.TargetID], call)
		}
	}
	for _, id := range order {
		r.addMock(mocking, id, byTarget[id])
	}
	if searched {
		r.warn("the knowledge base cannot be mocked: runs of the test search its current content")
	}
	mocking.SideEffects = SideEffectsDeny
	return mocking
}

// connected returns the chat's own mocking, without targets that are no longer connected to the agent.
func (r *mockRecorder) connected() *ToolMocking {
	mocking := r.recording.Chat.ToolMocking
	mocking.MockedTools = slices.DeleteFunc(slices.Clone(mocking.MockedTools), func(m MockedTool) bool {
		return !r.isConnected(ToolCallKindTool, m.ToolID, m.ToolID, "mock")
	})
	mocking.MockedSubAgents = slices.DeleteFunc(slices.Clone(mocking.MockedSubAgents), func(m MockedSubAgent) bool {
		return !r.isConnected(ToolCallKindSubAgent, m.SubAgentID, m.SubAgentID, "mock")
	})
	return &mocking
}

// isConnected reports whether a tool or sub-agent is still connected to the agent. If not, it warns that the part named
// by lost, such as its mock, is left out.
func (r *mockRecorder) isConnected(kind ToolCallKind, id, name, lost string) bool {
	typeName := "tool"
	found := slices.ContainsFunc(r.recording.Tools, func(t *Tool) bool { return t.ID == id })
	if kind == ToolCallKindSubAgent {
		typeName = "sub-agent"
		found = slices.ContainsFunc(r.recording.SubAgents, func(s *SubAgent) bool { return s.ID == id })
	}
	if !found {
		r.warn("the %s %s is no longer connected to the agent, so its %s is left out", typeName, name, lost)
	}
	return found
}

// addMock adds the mock of a target that was called, unless the chat mocked it.
func (r *mockRecorder) addMock(mocking *ToolMocking, id string, calls []*ToolCall) {
	kind, name := calls[0].Kind, calls[0].TechnicalName
	if r.recording.Chat.ToolMocking.mocks(kind, id) || !r.isConnected(kind, id, name, "record") {
		return
	}
	mock, ok := r.mock(name, r.repeatable(calls))
	switch {
	case !ok:
		r.warn("%s is not mocked, because none of its calls can be repeated", name)
	case kind == ToolCallKindSubAgent:
		mocking.MockedSubAgents = append(mocking.MockedSubAgents, MockedSubAgent{SubAgentID: id, Mock: mock})
	default:
		mocking.MockedTools = append(mocking.MockedTools, MockedTool{ToolID: id, Mock: mock})
	}
}

func (m *ToolMocking) mocks(kind ToolCallKind, id string) bool {
	if kind == ToolCallKindSubAgent {
		return m.MockAllSubAgents ||
			slices.ContainsFunc(m.MockedSubAgents, func(s MockedSubAgent) bool { return s.SubAgentID == id })
	}
	return m.MockAllTools || slices.ContainsFunc(m.MockedTools, func(t MockedTool) bool { return t.ToolID == id })
}

// repeatable returns the calls of a target that a mock can repeat, in order, and warns about the others.
func (r *mockRecorder) repeatable(calls []*ToolCall) []recordedCall {
	var recorded []recordedCall
	number := int32(0)
	for _, call := range calls {
		result, ok := r.outcome(call)
		isRepeated := call.MessageSequence >= r.upTo
		if isRepeated {
			number++ // the mock of the test counts the call even if no rule repeats its outcome
		}
		if !ok {
			continue
		}
		c := recordedCall{outcome: result, number: -1}
		decoder := json.NewDecoder(bytes.NewReader(call.Arguments.text()))
		decoder.UseNumber()
		// The column holds only objects.
		_ = decoder.Decode(&c.arguments)
		c.key = jsonText(c.arguments)
		if isRepeated {
			c.number = number - 1
		}
		recorded = append(recorded, c)
	}
	return recorded
}

// outcome returns the result of a call. It returns false and warns when no mock can express it.
func (r *mockRecorder) outcome(call *ToolCall) (outcome, bool) {
	if call.Error != nil {
		failure := RecordedFailure(*call.Error)
		if failure == nil && call.IsReal() && !call.MayHaveHappened() {
			failure = &MockFailure{Kind: MockFailureKindHTTPError, Status: new(int32(http.StatusBadGateway)), Body: call.Error}
			r.warn("a call of %s fails with the status 502, because no mock can repeat its failure: %s", call.TechnicalName,
				*call.Error)
		}
		if failure == nil {
			r.warn("a call of %s is left out, because no mock can repeat its failure: %s", call.TechnicalName, *call.Error)
			return outcome{}, false
		}
		o := outcome{failed: true, kind: failure.Kind}
		if failure.Status != nil {
			o.status = *failure.Status
		}
		if failure.Body != nil {
			o.body = *failure.Body
		}
		return o, true
	}
	result := *call.Result
	if result == "" {
		return outcome{failed: true, kind: MockFailureKindEmptyBody}, true
	}
	template := literal(result)
	if n := utf8.RuneCountInString(template); n > maxResultTemplate {
		r.warn("an answer of %s is left out: it has %d characters, but a mock can return at most %d",
			call.TechnicalName, n, maxResultTemplate)
		return outcome{}, false
	}
	return outcome{template: template}, true
}

var (
	failedStatus = regexp.MustCompile(`^the (?:tool|sub-agent) answered ([45][0-9]{2})\b[^:]*(?:: ([\s\S]*))?`)
	failedTime   = regexp.MustCompile(`^the (?:tool|sub-agent) did not answer in time`)
	failedJSON   = regexp.MustCompile(`^the (?:tool|sub-agent) answered with malformed JSON`)
)

// RecordedFailure returns the mock failure that repeats the recorded failure of a call, or nil when there is none.
func RecordedFailure(text string) *MockFailure {
	switch status := failedStatus.FindStringSubmatch(text); {
	case status != nil:
		number, _ := strconv.ParseInt(status[1], 10, 32)
		failure := &MockFailure{Kind: MockFailureKindHTTPError, Status: new(int32(number))}
		if status[2] != "" {
			failure.Body = &status[2]
		}
		return failure
	case failedTime.MatchString(text):
		return &MockFailure{Kind: MockFailureKindTimeout}
	case failedJSON.MatchString(text):
		return &MockFailure{Kind: MockFailureKindMalformedJSON}
	}
	return nil
}

// MockPlaceholder matches a placeholder in a mock's template: an argument, a variable, or a path within objects and
// lists, in braces. With the suffix |json, the value is inserted as JSON. With the suffix MockLiteral, the placeholder
// itself is inserted, without that suffix.
var MockPlaceholder = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_.-]*(?:\|json)?(?:\|literal)*\}`)

// MockLiteral is the suffix of placeholders that are not filled.
const MockLiteral = "|literal"

// literal returns a template that produces the result unchanged.
func literal(result string) string {
	return MockPlaceholder.ReplaceAllStringFunc(result, func(braces string) string {
		return strings.TrimSuffix(braces, "}") + MockLiteral + "}"
	})
}

// mock returns the mock that repeats the calls, or false if there is none. Calls with the same arguments get the
// recorded answer. All others get the last successful answer, if there is one. If all calls had the same outcome, all
// calls get it.
func (r *mockRecorder) mock(name string, calls []recordedCall) (Mock, bool) {
	if len(calls) == 0 {
		return Mock{}, false
	}
	var mock Mock
	for i := range calls {
		if !calls[i].outcome.failed {
			mock.ResultTemplate = &calls[i].outcome.template
		}
	}
	if !slices.ContainsFunc(calls, func(c recordedCall) bool { return c.outcome != calls[0].outcome }) {
		if mock.ResultTemplate == nil {
			mock.Rules = []MockRule{calls[0].outcome.rule(nil, nil)}
		}
		return mock, true
	}
	names := map[string]bool{}
	for _, call := range calls {
		for name := range call.arguments {
			names[name] = true
		}
	}
	for len(calls) > 0 {
		same, others := split(calls)
		mock.Rules = append(mock.Rules, r.rules(name, same, slices.Sorted(maps.Keys(names)))...)
		calls = others
	}
	if n := len(mock.Rules); n > maxRules {
		r.warn("the calls of %s need %d rules, but a mock has at most %d: the first rules are left out", name, n, maxRules)
		mock.Rules = mock.Rules[n-maxRules:]
	}
	return mock, true
}

// split separates the calls with the first call's arguments from the others.
func split(calls []recordedCall) (same, others []recordedCall) {
	for _, call := range calls {
		if call.key == calls[0].key {
			same = append(same, call)
		} else {
			others = append(others, call)
		}
	}
	return same, others
}

// rules returns rules that repeat calls with the same arguments. If the calls had different outcomes, their numbers
// distinguish them. Calls before the start of the test count only if none came later, and then only the last one.
func (r *mockRecorder) rules(name string, calls []recordedCall, names []string) []MockRule {
	when := []MockCondition{}
	for _, argument := range names {
		condition := MockCondition{Argument: argument}
		if value, ok := calls[0].arguments[argument]; ok {
			text, isText := value.(string)
			if !isText {
				text = jsonText(value)
			}
			condition.Equals = &text
		} else {
			present := false
			condition.Present = &present
		}
		when = append(when, condition)
	}
	last := calls[len(calls)-1]
	if first := slices.IndexFunc(calls, func(c recordedCall) bool { return c.number >= 0 }); first >= 0 {
		calls = calls[first:]
	}
	var rules []MockRule
	for _, call := range calls {
		if call.number >= 0 && call.outcome != last.outcome {
			rules = append(rules, call.outcome.rule(when, &call.number))
		}
	}
	rules = append(rules, last.outcome.rule(when, nil))
	var faults Fields
	for _, rule := range rules {
		faults.mockRule(name, rule)
	}
	if len(faults) > 0 {
		r.warn("a call of %s is left out, because a mock cannot distinguish it from others: %v", name, faults.Err())
		return nil
	}
	return rules
}

// jsonText encodes a value that was decoded from JSON, with sorted keys.
func jsonText(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Values that were decoded from JSON can be encoded.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}
