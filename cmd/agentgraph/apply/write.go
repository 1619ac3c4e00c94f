package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// writer applies a change set.
type writer struct {
	api *api
	// onStep is called after each step.
	onStep func(step)
	// done counts the steps that were applied.
	done int
}

// write applies the change set up to the first step that fails. The error names the resource.
func (w *writer) write(ctx context.Context, p *changeSet) error {
	for _, s := range p.steps {
		if err := s.do(ctx, w); err != nil {
			if client.CodeOf(err) == model.Conflict {
				return fmt.Errorf("%s: somebody else changed it after apply read it, and that change was kept. "+
					"Compare again with agentgraph diff: %w", s.change.resource, err)
			}
			return fmt.Errorf("%s: %w", s.change.resource, err)
		}
		w.done++
		w.onStep(s)
	}
	return nil
}

// mutate sends a mutation, and returns the selected fields of its payload.
func (w *writer) mutate(ctx context.Context, mutation, selection string, input object,
	file *client.File) (object, error) {
	document := fmt.Sprintf("mutation ($input: %s%sInput!) { answer: %s(input: $input) { %s } }",
		strings.ToUpper(mutation[:1]), mutation[1:], mutation, selection)
	var answer struct{ Answer json.RawMessage }
	if err := w.api.Mutate(ctx, document, client.Variables{"input": input}, file, &answer); err != nil {
		return nil, err
	}
	value, err := decodeJSON(answer.Answer)
	payload, _ := value.(object)
	return payload, err
}

// write creates or changes the resource itself.
func (ch *change) write(ctx context.Context, w *writer) error {
	t := ch.resource
	input, mutation := ch.input(), "create"+t.kind.typeName
	if ch.verb == "change" {
		mutation = "update" + t.kind.typeName
		input = append(object{{t.kind.id, t.id}, {"expectedUpdatedAt", t.changedAt()}}, input...)
	}
	payload, err := w.mutate(ctx, mutation, t.kind.payload+" { id createdAt updatedAt }", input, nil)
	if err != nil {
		return err
	}
	t.revise(payload.object(t.kind.payload))
	return nil
}

func (t *resource) revise(node object) {
	t.id = node.text("id")
	t.node = t.node.with("updatedAt", node.text("updatedAt")).with("createdAt", node.text("createdAt"))
}

// input returns the input of the mutation for the resource itself.
func (ch *change) input() object {
	input := object{}
	for _, d := range ch.inline {
		if ch.verb == "create" && d.desired == nil {
			continue
		}
		name, part, isPart := strings.Cut(d.name, ".")
		value := d.shape.requestValue(d.desired)
		switch {
		case isPart:
			input = input.with(name, input.object(name).with(part, value))
		case name == "endpoint" && d.desired == nil:
			input = input.with("removeEndpoint", true)
		case name != "endpoint":
			input = input.with(name, value)
		}
	}
	input = ch.withOffer(input)
	if endpoint := ch.endpoint(); endpoint != nil {
		input = input.with("endpoint", endpoint)
	}
	if ch.mayRepeat {
		input = input.with("mayRepeatName", true)
	}
	return input
}

// withOffer adds a tool's MCP server to the name of its offer, and the name to the server, because the gateway needs
// both to change one.
func (ch *change) withOffer(input object) object {
	whole := ch.resource.whole()
	for _, names := range [][2]string{{"mcpServerId", "mcpName"}, {"mcpName", "mcpServerId"}} {
		given, _ := input.get(names[0])
		_, hasOther := input.get(names[1])
		if other, _ := whole.get(names[1]); given != nil && !hasOther && other != nil {
			input = input.with(names[1], ch.resource.kind.member(names[1]).requestValue(other))
		}
	}
	return input
}

// endpoint returns a tool's endpoint, or nil if it is not sent. It includes the values of headers if they are sent.
func (ch *change) endpoint() any {
	isSent := slices.ContainsFunc(ch.inline, func(d difference) bool { return d.name == "endpoint" && d.desired != nil })
	if !isSent && !ch.headers {
		return nil
	}
	value, _ := ch.resource.desired.get("endpoint")
	endpoint := ch.resource.kind.member("endpoint").requestValue(value).(object).without("headerNames")
	if !ch.headers {
		return endpoint
	}
	headers := object{}
	for _, h := range ch.resource.headers {
		_, value, _ := environment(h.value.(string))
		headers = append(headers, member{h.name, value})
	}
	return endpoint.with("headers", headers)
}

// connect applies the differences that need separate requests.
func (ch *change) connect(ctx context.Context, w *writer) error {
	// Removals come first, because tools and sub-agents share one set of names.
	for _, d := range ch.separate {
		if err := ch.remove(ctx, w, d); err != nil {
			return err
		}
	}
	for _, d := range ch.separate {
		if err := ch.addEntries(ctx, w, d); err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) remove(ctx context.Context, w *writer, d difference) error {
	old, _ := d.old.(list)
	for _, one := range old {
		var err error
		switch d.name {
		case "toolIds":
			if !contains(d.desired, one) {
				_, err = w.mutate(ctx, "disconnectTool", "agent { id }",
					object{{"agentId", ch.resource.id}, {"toolId", one.(*resource).id}}, nil)
			}
		case "subAgents":
			name := one.(object).text("technicalName")
			if ch.resource.subAgents[name] == nil {
				_, err = w.mutate(ctx, "removeSubAgent", "deletedId", object{{"subAgentId", ch.subAgentID(name)}}, nil)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) subAgentID(technicalName string) string {
	for _, one := range ch.resource.node.list("subAgents") {
		if node := one.(object); node.text("technicalName") == technicalName {
			return node.text("id")
		}
	}
	return ""
}

func contains(values any, value any) bool {
	l, _ := values.(list)
	return slices.ContainsFunc(l, func(one any) bool { return isEqual(one, value) })
}

func (ch *change) addEntries(ctx context.Context, w *writer, d difference) error {
	if d.name == "knowledgeBaseChatId" {
		return ch.connectChat(ctx, w, d.desired)
	}
	for _, one := range d.desired.(list) {
		if contains(d.old, one) {
			continue
		}
		var err error
		switch d.name {
		case "toolIds":
			_, err = w.mutate(ctx, "connectTool", "agent { id }",
				object{{"agentId", ch.resource.id}, {"toolId", one.(*resource).id}}, nil)
		case "subAgents":
			err = ch.addSubAgent(ctx, w, one.(object), d.shape.element.requestValue(one).(object))
		case "fields":
			input := append(object{{"campaignId", ch.resource.id}}, d.shape.element.requestValue(one).(object)...)
			_, err = w.mutate(ctx, "addCampaignField", "campaign { id }", input, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) connectChat(ctx context.Context, w *writer, chat any) error {
	mutation, input := "disconnectKnowledgeBaseChat", object{{"agentId", ch.resource.id}}
	if chat != nil {
		mutation = "connectKnowledgeBaseChat"
		input = append(input, member{"chatId", chat.(*resource).id}, member{"expectedUpdatedAt", ch.resource.changedAt()})
	}
	payload, err := w.mutate(ctx, mutation, "agent { id createdAt updatedAt }", input, nil)
	if err != nil {
		return err
	}
	ch.resource.revise(payload.object("agent"))
	return nil
}

// addSubAgent adds a sub-agent, or changes the existing one of that name.
func (ch *change) addSubAgent(ctx context.Context, w *writer, wanted, input object) error {
	s := ch.resource.subAgents[wanted.text("technicalName")]
	mutation := "addSubAgent"
	if s.id == "" {
		input = input.with("agentId", ch.resource.id)
	} else {
		mutation, input = "updateSubAgent", input.without("technicalName").with("subAgentId", s.id)
	}
	payload, err := w.mutate(ctx, mutation, "subAgent { id }", input, nil)
	if err != nil {
		return err
	}
	s.id = payload.object("subAgent").text("id")
	return nil
}

// writeDocuments adds documents before it deletes those that they replace, so that searches always find one. The
// labeled questions of replaced documents move to the new ones.
func (ch *change) writeDocuments(ctx context.Context, w *writer) error {
	kept := map[string]string{}
	for _, d := range ch.resource.documents {
		if same := d.storedAs(ch.resource.stored); same >= 0 {
			kept[d.name] = ch.resource.stored[same].id
		}
	}
	for _, d := range ch.addedDocuments {
		content, err := d.content()
		if err != nil {
			return err
		}
		input := object{{"datasetId", ch.resource.id}, {"name", d.name}, {"upload", nil}}
		file := &client.File{Variable: "variables.input.upload", Name: safeName(d.name), Content: content}
		payload, err := w.mutate(ctx, "addDocument", "document { id }", input, file)
		if err != nil {
			return fmt.Errorf("document %q: %w", d.name, err)
		}
		kept[d.name] = payload.object("document").text("id")
	}
	if err := ch.moveQuestions(ctx, w, kept); err != nil {
		return fmt.Errorf("move the labeled questions: %w", err)
	}
	for _, s := range ch.deletedDocuments {
		if _, err := w.mutate(ctx, "deleteDocument", "deletedId", object{{"documentId", s.id}}, nil); err != nil {
			return fmt.Errorf("document %q: %w", s.name, err)
		}
	}
	return nil
}

func (ch *change) delete(ctx context.Context, w *writer) error {
	typeName := ch.resource.kind.typeName
	if ch.resource.kind.isTest() {
		typeName = "AgentTest"
	}
	_, err := w.mutate(ctx, "delete"+typeName, "deletedId", object{{ch.resource.kind.id, ch.resource.id}}, nil)
	return err
}
