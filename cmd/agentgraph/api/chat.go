package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// Chat holds a simulated chat with an agent.
type Chat struct {
	client.Flags
	outputFlag
	Agent string
	Data  map[string]string
	Mock  bool
}

// NewChat returns the command "chat".
func NewChat() *cobra.Command {
	c := &Chat{}
	return cli.New(c, &cobra.Command{
		Use: "chat", Short: "Chat with an agent, and see its calls. Each line of standard input is a message.",
		Example: `agentgraph chat "Clinic reception" --data clinicName=Harbour
agentgraph chat agent_01m7yn1htzexesns5wjxxva918 --mock`,
	}, []cli.Argument{
		{Into: &c.Agent, Name: "agent", Complete: c.CompleteNames(client.Agents),
			Help: "The agent: its id, or its name or a part that no other has."},
	}, &c.Flags, &c.outputFlag, cli.Flags{
		{Into: &c.Data, Name: "data", Placeholder: "NAME=VALUE", Help: "A value for a field of the agent; the flag again " +
			"for several."},
		{Into: &c.Mock, Name: "mock", Help: "Mock all tools and sub-agents, and never transfer."},
	})
}

const (
	startChatDocument = `mutation ($input: StartSimulationChatInput!) {
		startSimulationChat(input: $input) { simulationChat { id warnings messages { ...message } } }
	}` + messageFields
	sendDocument = `mutation ($input: SendSimulationMessageInput!) {
		sendSimulationMessage(input: $input) { newMessages { ...message } }
	}` + messageFields
	chatEventsDocument = `subscription ($id: ID!) { simulationChatEvents(simulationChatId: $id) {
		__typename
		... on MessageDelta { messageSequence: sequence turnId text }
		... on ToolCallStarted { technicalName arguments messageSequence }
		... on ToolCallFinished { technicalName result error mocked durationMs messageSequence }
		... on TurnFailed { messageSequence }
	} }`
	endChatDocument = `mutation ($id: ID!) { endSimulationChat(input: {simulationChatId: $id}) { simulationChat { id } } }`
	messageFields   = ` fragment message on SimulationChatMessage { sequence role text isConversationEnded endReason
		citations { number documentName } }`
)

type chatMessage struct {
	Sequence            int            `json:"sequence"`
	Role                string         `json:"role"`
	Text                string         `json:"text"`
	IsConversationEnded bool           `json:"isConversationEnded"`
	EndReason           *string        `json:"endReason"`
	Citations           []chatCitation `json:"citations"`
}

type chatCitation struct {
	Number       int    `json:"number"`
	DocumentName string `json:"documentName"`
}

// chatEvent is an event of any type, with the fields of all.
type chatEvent struct {
	Typename string `json:"__typename"`
	// MessageSequence is the number of the message that is being written or answered.
	MessageSequence int
	TurnID          string
	Text            string
	TechnicalName   string
	Arguments       json.RawMessage
	Result, Error   *string
	Mocked          bool
	DurationMs      int
}

// endTime bounds the end of a chat after the program was interrupted.
const endTime = 5 * time.Second

// Run starts a chat and holds it: each line of standard input is a message. It ends with the input, or when the agent
// ends the conversation.
func (c *Chat) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	agent, err := server.FindByPart(ctx, client.Agents, c.Agent)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	socket, err := server.Open(context.WithoutCancel(ctx))
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	defer socket.Close()
	var screen screen = &lines{out: cmd.OutOrStdout()}
	if c.forPeople(cmd.OutOrStdout()) {
		screen = &terminal{out: cmd.OutOrStdout(), style: client.StyleOf(cmd.OutOrStdout()),
			agent: client.Printable(agent.Name)}
	}
	input := client.Variables{"agentId": agent.ID, "dataBag": c.Data}
	if c.Mock {
		input["toolMocking"] = client.Variables{"mockAllTools": true, "mockAllSubAgents": true, "mockCallTransfer": true}
	}
	var begun struct {
		StartSimulationChat struct {
			SimulationChat struct {
				ID       string
				Warnings []string
				Messages []chatMessage
			}
		}
	}
	if err := server.Ask(ctx, startChatDocument, client.Variables{"input": input}, &begun); err != nil {
		return client.ExitWith(ctx, err)
	}
	chat := begun.StartSimulationChat.SimulationChat
	screen.begin(chat.ID, chat.Warnings)
	for _, message := range chat.Messages {
		screen.message(message)
	}
	talk := &conversation{socket: socket, id: chat.ID, screen: screen, shown: len(chat.Messages)}
	err = talk.hold(ctx, linesOf(cmd.InOrStdin()))
	if !talk.isOver {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		screen.left(server.Ask(ending, endChatDocument, client.Variables{"id": chat.ID}, &struct{}{}))
	}
	return client.ExitWith(ctx, err)
}

// conversation is a chat that is being held.
type conversation struct {
	socket *client.Socket
	id     string
	screen screen
	// shown is the number of the last message that is shown.
	shown int
	// isOver: the agent ended it.
	isOver bool
}

// hold takes lines and sends them, until there are no more, the agent ends the conversation, or ctx ends.
func (t *conversation) hold(ctx context.Context, said <-chan string) error {
	events, err := t.socket.Start(ctx, client.Request{Query: chatEventsDocument, Variables: client.Variables{"id": t.id}})
	if err != nil {
		return err
	}
	for !t.isOver {
		t.screen.ask()
		select {
		case text, more := <-said:
			if !more {
				return nil
			}
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if err := t.send(ctx, text, events); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// send sends a message and shows what happens until the answer is written. The answer is what the mutation says; events
// only come sooner.
func (t *conversation) send(ctx context.Context, text string, events <-chan client.Event) error {
	answer, err := t.socket.Start(ctx, client.Request{Query: sendDocument, Variables: client.Variables{
		"input": client.Variables{"simulationChatId": t.id, "text": text},
	}})
	if err != nil {
		return err
	}
	for {
		select {
		case event, open := <-events:
			var happened struct{ SimulationChatEvents chatEvent }
			if !open || event.Done || event.Err != nil {
				events = nil // Then the answer alone has to do.
			} else if json.Unmarshal(event.Data, &happened) == nil && happened.SimulationChatEvents.MessageSequence > t.shown {
				// Others are late: they are about what is shown already.
				t.screen.event(happened.SimulationChatEvents)
			}
		case event, open := <-answer:
			if !open || event.Done {
				return errors.New("the connection ended before the answer")
			}
			return t.answered(event)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered shows the answer. An error of the server leaves the chat open: the message can be sent again.
func (t *conversation) answered(event client.Event) error {
	if event.Err != nil {
		if client.CodeOf(event.Err) == "" {
			return event.Err
		}
		t.screen.failed(event.Err)
		return nil
	}
	var read struct {
		SendSimulationMessage struct{ NewMessages []chatMessage }
	}
	if err := json.Unmarshal(event.Data, &read); err != nil {
		return err
	}
	for _, message := range read.SendSimulationMessage.NewMessages {
		t.screen.message(message)
		t.shown = message.Sequence
		t.isOver = t.isOver || message.IsConversationEnded
	}
	return nil
}

// linesOf reads lines, and closes the channel at the end. Reading cannot be interrupted, so it ends with the program.
func linesOf(in io.Reader) <-chan string {
	said := make(chan string)
	go func() {
		defer close(said)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			said <- scanner.Text()
		}
	}()
	return said
}
