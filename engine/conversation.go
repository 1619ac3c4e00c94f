package engine

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// turn is the shared state of the conversations in one turn: the conversation of the chat's agent with the contact, and
// the conversations with sub-agents.
type turn struct {
	// chooseModel returns the model that speaks for an agent.
	chooseModel func(*model.Agent) (llm.Model, error)
	// rephraser turns a message into a self-contained question. If it is nil, the knowledge base is searched for the
	// message.
	rephraser llm.Model
	limits    limits
	effects   effects
	// skippedDelay returns the sum of the simulated delays that were skipped so far. Nil means none.
	skippedDelay func() time.Duration
	checks       *rules.Checker
	// variables are the chat's data bag.
	variables content.Values
	mocking   *model.ToolMocking
	samples   map[string]*model.Mock

	// awaitingApproval are calls for which an earlier attempt to answer has asked a person.
	awaitingApproval []*model.ToolCall
	waitingMutex     sync.Mutex

	// modelRequests counts the requests to the model in all conversations.
	modelRequests atomic.Int64
	// callBytes counts the arguments and results of the calls in all conversations.
	callBytes atomic.Int64
	transfer  transfer
}

type limits struct {
	// modelCalls bounds the requests to the model in one conversation.
	modelCalls int
	// depth bounds nested delegations.
	depth int
	// replyTimeout bounds one answer of the model.
	replyTimeout time.Duration
}

// effects are the functions by which a turn acts on the outside world and reads from it. The model sees the text of an
// error only if it is a *model.Error or an *endpoint.Error.
type effects struct {
	now func() time.Time
	// wait returns after the time, or with an error as soon as ctx ends.
	wait func(context.Context, time.Duration) error
	// call calls a tool that has an endpoint, and returns the response.
	call func(context.Context, *model.Tool, model.JSONObject) (string, error)
	// reload returns a tool of an MCP server as it is stored now. It refreshes the list of tools first, unless the list is
	// a few seconds old.
	reload func(context.Context, *model.Tool) (*model.Tool, error)
	// The function open returns the agent behind a sub-agent.
	open func(context.Context, *model.SubAgent) (*Speaker, error)
	// transfer hands the contact over to a human, for a reason. It is nil without a telephony provider.
	transfer func(context.Context, string) error
	// retrieve returns the chunks that a knowledge base chat finds for a question, best first.
	retrieve func(context.Context, *model.KnowledgeBaseChat, string) ([]*model.RetrievedChunk, error)
	// approve returns once a person has approved the call of a tool by the agent with the id, or with an error if it must
	// not be made.
	approve func(ctx context.Context, agentID string, tool *model.Tool, call *model.ToolCall) error
	// The function beginCall records a real call before it is made. If beginCall fails, the call is not made.
	beginCall func(context.Context, *model.ToolCall) error
}

type event struct {
	// text is the next piece of the reply.
	text string
	// started is a call without its outcome.
	started *model.ToolCall
	// isUnreadable is set if the arguments of the started call are not a JSON object. They are recorded as {}.
	isUnreadable bool
	// finished is a call that ended. Every started call finishes, even if the turn fails.
	finished *finished
	// reply is set on the last event only.
	reply *Reply
}

type finished struct {
	call model.ToolCall
	// cause is the cause of the call's error. It is only for the log, and nil if the record has all details.
	cause error
	// warnings are about placeholders without a value: in the mock, or in the prompt of the sub-agent.
	warnings []string
}

// Reply is the agent's answer.
type Reply struct {
	Text string
	// EndReason is why the agent ends the conversation with this reply. It is nil if the conversation continues.
	EndReason *string
	// failure is the model's error after the conversation had ended. It is only for the log, and may be nil.
	failure error
	// citations are the sources of the citation numbers in the text.
	citations []model.Citation
	// Usage is the usage of the answer, without the tokens.
	Usage model.AnswerUsage
}

// conversation is an agent's side of a conversation during a turn.
type conversation struct {
	*turn
	req llm.Request
	// model speaks for the agent.
	model llm.Model
	// usage is the usage of the answer so far.
	usage model.AnswerUsage
	// req.System begins with prompt and ends with instruction. Found chunks come between them.
	prompt, instruction string
	// knowledge is the agent's knowledge base chat, or nil.
	knowledge *retrieval
	targets   map[string]*target
	// variables fill the placeholders of the prompt and of mocks.
	variables content.Values
	// unknown lists the placeholders of the prompt without a value.
	unknown []string
	// channel is the channel of the agent that talks to the contact.
	channel  model.Channel
	language string
	// path has the ids of the agents that wait for an answer, from the chat's own agent to this one.
	path []string
	// delegation is the id of the call that started this conversation, nil for the chat's own agent.
	delegation *string
	// mockedCalls counts the calls of each mocked target in the chat, by its id.
	mockedCalls map[string]int32

	replyText strings.Builder
	// corrected is set after the model had its one chance to correct a call.
	corrected bool
	endReason *string
}

// transfer is the state of the transfer to a human. A turn makes at most one, in any of its conversations.
type transfer struct {
	mutex  sync.Mutex
	reason *string
	// isReal is set if the contact was really transferred.
	isReal bool
	// mayHaveHappened is set if an earlier turn started a transfer whose outcome is unknown.
	mayHaveHappened bool
}

// doneReason returns the reason of the transfer, or nil if there was none.
func (t *transfer) doneReason() *string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.reason
}

// happened reports whether the contact was really transferred.
func (t *transfer) happened() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.isReal
}

type retrieval struct {
	chat *model.KnowledgeBaseChat
	// shown has the chunks that the model sees, best first. Citation number 1 is the first.
	shown []*model.RetrievedChunk
}

// Speaker is an agent with its tools, sub-agents and knowledge base chat.
type Speaker struct {
	Agent     *model.Agent
	Tools     []*model.Tool
	SubAgents []*model.SubAgent
	// chat is the agent's knowledge base chat. It may be nil.
	chat *model.KnowledgeBaseChat
}
