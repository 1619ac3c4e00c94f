package apply

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// check records the errors that the server would return for this resource alone.
func (c *company) check(ch *change) {
	t := ch.resource
	c.checkTags(ch)
	c.checkMocks(ch)
	c.checkSubAgents(ch)
	err := t.validate()
	var known *model.Error
	if err != nil && !errors.As(err, &known) {
		c.faults.addFault(t.at, "%v", err)
	}
	if known == nil {
		return
	}
	if len(known.Fields) == 0 {
		c.faults.addFault(t.at, "%s", known.Message)
	}
	isGiven := func(name string) bool {
		return ch.verb == "create" || slices.ContainsFunc(ch.inline, func(d difference) bool { return d.name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(known.Fields)) {
		if name == "technicalName" && !isGiven(name) { // older versions accepted names that new tools cannot have
			continue
		}
		at := t.at
		for step := range strings.SplitSeq(name, ".") {
			at = at.member(step)
		}
		c.faults.addFault(at, "%s", strings.Join(known.Fields[name], ", "))
	}
}

// checkSubAgents records an error for each new sub-agent that the server would refuse.
func (c *company) checkSubAgents(ch *change) {
	at := ch.resource.at.member("subAgents")
	for i, one := range ch.resource.raw.list("subAgents") {
		sub := one.(object)
		name, description := sub.text("technicalName"), sub.text("description")
		if s := ch.resource.subAgents[name]; s == nil || s.id != "" {
			continue // older versions accepted names that new sub-agents cannot have
		}
		err := model.AddSubAgentInput{Name: sub.text("name"), TechnicalName: name, Description: &description}.Validate()
		if known, isKnown := errors.AsType[*model.Error](err); isKnown {
			for _, field := range slices.Sorted(maps.Keys(known.Fields)) {
				c.faults.addFault(at.index(i).member(field), "%s", strings.Join(known.Fields[field], ", "))
			}
		}
	}
}

// checkTags records an error for each expected tag that the agent will not have, because the server would refuse the
// test.
func (c *company) checkTags(ch *change) {
	t := ch.resource
	if t.kind != classification || !slices.ContainsFunc(ch.inline, func(d difference) bool {
		return d.name == "tagExpected" || d.name == "rows"
	}) {
		return
	}
	tags := t.agent.whole().list("classificationTags")
	checkTag := func(at path, tag, format string, args ...any) {
		isTag := func(one any) bool { return one.(object).text("name") == tag }
		if !slices.ContainsFunc(tags, isTag) {
			c.faults.addFault(at, "agent %q has no classification tag %q"+format, append([]any{t.agent.name(), tag}, args...)...)
		}
	}
	whole := t.whole()
	expected, rows := whole.text("tagExpected"), whole.list("rows")
	if len(rows) == 0 || !strings.Contains(expected, "{") {
		checkTag(t.at.member("tagExpected"), expected, "")
		return
	}
	for i, one := range rows {
		row := one.(object)
		for _, m := range row.object("values") {
			if tag, isText := m.value.(string); isText && expected == "{"+m.name+"}" {
				checkTag(t.at.member("rows").index(i), tag, ", which the row %q expects",
					cmp.Or(row.text("name"), strconv.Itoa(i+1)))
			}
		}
	}
}

// mockLists are the lists of a toolMocking, and the member of each entry that has the target.
var mockLists = []struct{ list, member string }{{"mockedTools", "toolId"}, {"mockedSubAgents", "subAgentId"}}

// checkMocks records an error for each mock of a tool that the agent will not have or that was deleted, and for a
// second mock of the same tool or sub-agent.
func (c *company) checkMocks(ch *change) {
	t := ch.resource
	if t.kind != simulation ||
		!slices.ContainsFunc(ch.inline, func(d difference) bool { return strings.HasPrefix(d.name, "toolMocking") }) {
		return
	}
	mocking := t.whole().object("toolMocking")
	tools := t.agent.whole().list("toolIds")
	for _, mocked := range mockLists {
		var seen list
		for i, one := range mocking.list(mocked.list) {
			target, _ := one.(object).get(mocked.member)
			at := t.at.member("toolMocking").member(mocked.list).index(i).member(mocked.member)
			switch gone, _ := target.(*resource); {
			case gone.isDeleted:
				c.faults.addFault(at, "the %s %q was deleted: remove its mock", gone.kind.name, gone.id)
			case contains(seen, target):
				c.faults.addFault(at, "is mocked twice")
			case mocked.list == "mockedTools" && !contains(tools, target):
				c.faults.addFault(at, "agent %q does not have the tool %q: add it to toolIds", t.agent.name(),
					target.(*resource).reference())
			}
			seen = append(seen, target)
		}
	}
}

// ownVariable matches the environment variables that this program or one of its libraries reads. Their values are
// never sent to tools, because the author of a file or of a tool on a server chooses the variable's name.
var ownVariable = regexp.MustCompile(`(?i)^(AGENTGRAPH_|OPENAI_|AWS_|OTEL_|DATABASE_URL|PGPASSWORD$)`)

// checkHeaders records an error for each header whose environment variable must not be sent, or is needed and not set.
func (c *company) checkHeaders(t *resource, isNeeded bool) {
	for _, h := range t.headers {
		name, _, isSet := environment(h.value.(string))
		at := t.at.member("endpoint").member("headers").member(h.name)
		switch {
		case ownVariable.MatchString(name):
			c.faults.addFault(at, "%s is a variable of agentgraph itself, so its value is not sent: use another name", name)
		case isNeeded && !isSet:
			c.faults.addFault(at, "needs the environment variable %s, which is not set", name)
		}
	}
}

var variable = regexp.MustCompile(`^\$\{(\w+)\}$`)

// environment returns the name and the value of the environment variable that a text such as ${NAME} refers to. For any
// other text, it returns that text as the name, and false.
func environment(text string) (name, value string, isSet bool) {
	found := variable.FindStringSubmatch(text)
	if found == nil {
		return text, "", false
	}
	value, isSet = os.LookupEnv(found[1])
	return found[1], value, isSet
}

// validate creates the resource in memory as the server would, and returns the resulting error.
func (t *resource) validate() error {
	o, whole := object{}, t.whole()
	for _, f := range t.kind.members {
		if value, _ := whole.get(f.name); value != nil && !f.isSeparate {
			o = append(o, member{f.name, f.requestValue(value)})
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return makers[t.kind](text)
}

// makers create a resource of each kind from the input of its mutation, and return the error.
var makers = map[*kind]func(text []byte) error{
	dataset: maker(model.NewDataset),
	knowledgeBaseChat: maker(func(in model.CreateKnowledgeBaseChatInput, now time.Time) (*model.KnowledgeBaseChat, error) {
		// Only the server knows the configured models.
		if s := in.PromptSettings; s != nil {
			s.RerankModel = nil
		}
		return model.NewKnowledgeBaseChat(in, now)
	}),
	tool: maker(func(in model.CreateToolInput, now time.Time) (*model.Tool, error) {
		return model.NewTool(in.Changes(), now, func(string, []byte) ([]byte, error) { return nil, nil })
	}),
	mcpServer: maker(func(in model.CreateMcpServerInput, now time.Time) (*model.McpServer, error) {
		return model.NewMcpServer(in, now, func(string, []byte) ([]byte, error) { return nil, nil })
	}),
	agent:          maker(model.NewAgent),
	folder:         maker(model.NewAgentTestFolder),
	simulation:     maker(model.NewSimulationTest),
	classification: maker(model.NewClassificationTest),
	campaign:       maker(model.NewCampaign),
}

func maker[In, Out any](create func(In, time.Time) (Out, error)) func(text []byte) error {
	return func(text []byte) error {
		var in In
		if err := json.Unmarshal(text, &in); err != nil {
			return err
		}
		_, err := create(in, time.Now())
		return err
	}
}
