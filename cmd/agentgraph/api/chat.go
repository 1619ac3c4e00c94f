package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type chatCommand struct {
	client.Flags
	outputFlag
	Agent string
	Data  map[string]string
	Mock  bool
}

func newChat() *cobra.Command {
	c := &chatCommand{}
	return cli.New(c, &cobra.Command{
		Use: "chat", Short: "Chat with an agent, and see its calls. Each line of standard input is a message.",
		Example: `agentgraph chat "Clinic reception" --data clinicName=Harbour
agentgraph chat agent_01m7yn1htzexesns5wjxxva918 --mock`,
	}, []cli.Argument{
		{Into: &c.Agent, Name: "agent", Complete: c.CompleteNames(client.Agents),
			Help: "The agent: its id, its name, or a part of the name that no other agent has."},
	}, &c.Flags, &c.outputFlag, cli.Flags{
		{Into: &c.Data, Name: "data", Placeholder: "NAME=VALUE", Help: "A value for a field of the agent. Repeat the " +
			"flag for several."},
		{Into: &c.Mock, Name: "mock", Help: "Mock all tools, sub-agents and call transfers."},
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
		... on ToolCallStarted { id technicalName arguments messageSequence }
		... on ToolApprovalChanged { id technicalName arguments messageSequence approval }
		... on ToolCallFinished { id technicalName result error mocked durationMs messageSequence }
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

// chatEvent is an event of any type. It has the fields of all types.
type chatEvent struct {
	Typename string `json:"__typename"`
	// MessageSequence is the number of the message that the agent is writing or answering.
	MessageSequence int
	TurnID          string
	Text            string
	TechnicalName   string
	Arguments       json.RawMessage
	Result, Error   *string
	// ID is the id of a call. Approval is set if the call starts or stops waiting for a person.
	ID, Approval string
	Mocked       bool
	DurationMs   int
}

// endTimeout bounds the request that ends the chat when the command ends.
const endTimeout = 5 * time.Second

// Run holds a chat in which each line of standard input is a message. It ends at the end of the input, or when the
// agent ends the conversation. Without a terminal, it fails if a message was not answered.
func (c *chatCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	agent, err := server.FindByPart(ctx, client.Agents, c.Agent)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	var screen screen = &lines{out: cmd.OutOrStdout()}
	if c.isHumanReadable(cmd.OutOrStdout()) {
		screen = &terminal{out: cmd.OutOrStdout(), style: client.StyleOf(cmd.OutOrStdout()),
			agent: client.Printable(agent.Name)}
	}
	input := client.Variables{"agentId": agent.ID, "dataBag": c.Data}
	if c.Mock {
		input["toolMocking"] = client.Variables{"mockAllTools": true, "mockAllSubAgents": true, "mockCallTransfer": true}
	}
	var started struct {
		StartSimulationChat struct {
			SimulationChat struct {
				ID       string
				Warnings []string
				Messages []chatMessage
			}
		}
	}
	if err := server.Mutate(ctx, startChatDocument, client.Variables{"input": input}, nil, &started); err != nil {
		if client.CodeOf(err) == "UNPROCESSABLE" && strings.Contains(err.Error(), "mandatory") {
			err = client.Exit(client.ExitUsage, fmt.Errorf("%w: add --data NAME=VALUE for each of them", err))
		}
		return client.ExitWith(ctx, err)
	}
	chat := started.StartSimulationChat.SimulationChat
	screen.begin(chat.ID, chat.Warnings)
	for _, message := range chat.Messages {
		screen.message(message)
	}
	talk := &conversation{server: server, id: chat.ID, screen: screen, shown: len(chat.Messages),
		seen: map[string]bool{}}
	err = talk.run(ctx, readLines(cmd.InOrStdin()))
	if err == nil && talk.failure != nil && !cli.IsTerminal(cmd.InOrStdin()) {
		err = fmt.Errorf("a message was not answered: %w", talk.failure)
	}
	if !talk.isOver {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		screen.printEnd(server.Query(ending, endChatDocument, client.Variables{"id": chat.ID}, &struct{}{}))
	}
	return client.ExitWith(ctx, err)
}

// conversation is a chat in progress.
type conversation struct {
	server *client.Client
	id     string
	screen screen
	// shown is the number of the last message on the screen.
	shown int
	// failure is the error of the first message that was not answered, or nil.
	failure error
	// isOver is set once the agent has ended the chat.
	isOver bool
	// waiting are the ids of the calls that wait for a person.
	waiting []string
	// seen has the type and the id of each event of a call that is on the screen, until the message is answered.
	seen map[string]bool
}

// run sends each line as a message, until the input, the conversation or ctx ends.
func (t *conversation) run(ctx context.Context, input <-chan inputLine) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := t.follow(ctx)
	for !t.isOver {
		t.screen.prompt()
		select {
		case line, more := <-input:
			if !more {
				return nil
			}
			if line.err != nil {
				return client.Exit(client.ExitUsage, line.err)
			}
			text := strings.TrimSpace(line.text)
			if text == "" {
				continue
			}
			if err := t.send(ctx, text, events, input); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// eventsAhead is how many events may wait to be shown.
const eventsAhead = 256

// follow returns the chat's events. The channel is never closed: if the server ends the stream, the chat continues
// without events.
func (t *conversation) follow(ctx context.Context) <-chan chatEvent {
	events, opened := make(chan chatEvent, eventsAhead), make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	request := client.Request{Query: chatEventsDocument, Variables: client.Variables{"id": t.id}}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: open})
	go func() {
		defer open()
		_ = t.server.Subscribe(traced, request, func(data json.RawMessage) error {
			var happened struct{ SimulationChatEvents chatEvent }
			if err := json.Unmarshal(data, &happened); err != nil {
				return err
			}
			select {
			case events <- happened.SimulationChatEvents:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	<-opened
	return events
}

// send sends a message and shows events until the answer is complete. The mutation returns the answer. Events show its
// text while the agent writes it. While a call waits for a person, the next line of input approves or denies it.
func (t *conversation) send(ctx context.Context, text string, events <-chan chatEvent, input <-chan inputLine) error {
	request := client.Request{Query: sendDocument, Variables: client.Variables{
		"input": client.Variables{"simulationChatId": t.id, "text": text},
	}}
	var answer json.RawMessage
	over := make(chan error, 1)
	go func() {
		// The server streams keep-alives while the agent answers, which may take minutes.
		over <- t.server.Subscribe(ctx, request, func(data json.RawMessage) error {
			answer = data
			return nil
		})
	}()
	for {
		var answers <-chan inputLine
		if len(t.waiting) > 0 {
			answers = input
		}
		select {
		case line, more := <-answers:
			if !more { // without input, nobody can approve calls
				line.text = "n"
			}
			if err := t.approve(ctx, line.text); err != nil {
				return err
			}
		case event := <-events:
			// Other events are late: their text is already shown.
			if event.MessageSequence > t.shown {
				t.screen.event(event)
				t.trackApprovals(event)
				t.seen[event.Typename+event.ID] = true
			}
		case err := <-over:
			return t.answered(ctx, answer, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered shows the answer. A server error leaves the chat open, so that the message can be sent again.
func (t *conversation) answered(ctx context.Context, answer json.RawMessage, err error) error {
	if client.CodeOf(err) != "" {
		t.screen.showError(err)
		t.failure = cmp.Or(t.failure, err)
		return nil
	}
	var read struct {
		SendSimulationMessage struct{ NewMessages []chatMessage }
	}
	if err == nil {
		err = json.Unmarshal(answer, &read)
	}
	if err == nil {
		err = t.showCalls(ctx)
	}
	for _, message := range read.SendSimulationMessage.NewMessages {
		t.screen.message(message)
		t.shown = message.Sequence
		t.isOver = t.isOver || message.IsConversationEnded
	}
	return err
}

// inputLine is a line of standard input. err is set if the line is not UTF-8.
type inputLine struct {
	text string
	err  error
}

// readLines returns a channel of the lines, which is closed at the end of the input. The first line has no byte order
// mark. Reads cannot be interrupted, so the goroutine may live as long as the program.
func readLines(in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(in)
		for n := 1; ; n++ {
			line, err := reader.ReadString('\n')
			if n == 1 {
				line = strings.TrimPrefix(line, "\ufeff")
			}
			if line != "" {
				lines <- inputLine{strings.TrimRight(line, "\r\n"), cli.CheckLine(line, n)}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
