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

// turn is what the conversations of one turn share: that of the chat's agent with the contact, and those that it opens
// with its sub-agents.
type turn struct {
	model llm.Model
	// rephraser turns a message into a self-contained question. Nil means that the knowledge base is asked the message.
	rephraser llm.Model
	limits    limits
	effects   effects
	checks    *rules.Checker
	// variables are the chat's data bag.
	variables content.Values
	mocking   *model.ToolMocking

	// asked counts how often the model was asked, in all conversations.
	asked    atomic.Int64
	transfer transfer
}

type limits struct {
	// modelCalls bounds how often the model is asked in one conversation.
	modelCalls int
	// depth bounds nested delegations.
	depth int
	// reply bounds the time of the model for one answer.
	reply time.Duration
}

// effects are everything that a turn does outside of itself. The model sees a failure only if it is a
// *model.Error or an *endpoint.Error.
type effects struct {
	now func() time.Time
	// wait returns after the time, or with an error as soon as ctx ends.
	wait func(context.Context, time.Duration) error
	// call calls a tool that has an endpoint, and returns its answer.
	call func(context.Context, *model.Tool, model.JSONObject) (string, error)
	// open returns the agent behind a sub-agent.
	open func(context.Context, *model.SubAgent) (*Speaker, error)
	// transfer hands the contact over to a human, for a reason. Nil means that there is no provider.
	transfer func(context.Context, string) error
	// retrieve returns what a knowledge base chat finds for a question, best first.
	retrieve func(context.Context, *model.KnowledgeBaseChat, string) ([]*model.RetrievedChunk, error)
	// begin records that a real call is about to be made. If that fails, the call is not made.
	begin func(context.Context, *model.ToolCall) error
}

type event struct {
	// text is the next piece of the reply.
	text string
	// started is a call that begins, without its outcome.
	started *model.ToolCall
	// finished is a call that ended. Every call that started finishes, whatever happens to the turn.
	finished *finished
	// Reply is set on the last event only.
	reply *Reply
}

type finished struct {
	call model.ToolCall
	// isReal: the call really began.
	isReal bool
	// cause is the cause of its error, only for the log. It is nil if the record says all.
	cause error
	// warnings are about placeholders without a value, in its mock or, for a delegation, in the sub-agent's prompt.
	warnings []string
}

// Reply is the agent's answer.
type Reply struct {
	Text string
	// EndReason is why the agent ends the conversation with it, nil if it goes on.
	EndReason *string
	// failure is what the model did wrong after the end of the conversation, only for the log. It may be nil.
	failure error
	// citations are the sources of the numbers in the text.
	citations []model.Citation
}

// conversation is an agent's side of a conversation during a turn.
type conversation struct {
	*turn
	req llm.Request
	// prompt is the beginning of the instructions, and instruction their end.
	prompt, instruction string
	// knowledge is what the agent answers from, nil without a knowledge base chat.
	knowledge *retrieval
	targets   map[string]*target
	// variables fill the placeholders of the prompt and of mocks.
	variables content.Values
	// unknown are the placeholders of the prompt without a value.
	unknown []string
	// channel is that of the agent which talks to the contact.
	channel model.Channel
	// language is the agent's language.
	language string
	// path are the ids of the agents that wait for an answer, from the chat's own to this one.
	path []string
	// delegation is the id of the call that opened it, nil for the chat's own.
	delegation *string
	// made counts the calls of each mocked target in the chat, by its id.
	calls map[string]int32

	said strings.Builder
	// corrected: the model had its chance to correct a call.
	corrected bool
	endReason *string
}

// transfer is the one transfer to a human that a turn can make, in any of its conversations.
type transfer struct {
	mutex  sync.Mutex
	reason *string
	// isReal: the transfer really happened.
	isReal bool
	// isDoubtful: an earlier turn began a transfer that may have happened.
	isDoubtful bool
}

// done returns why the contact was transferred, nil if it was not.
func (t *transfer) done() *string {
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
	// shown are the chunks that the model sees, best first. It cites the first as 1.
	shown []*model.RetrievedChunk
}

// Speaker is an agent and what it is connected to.
type Speaker struct {
	Agent     *model.Agent
	Tools     []*model.Tool
	SubAgents []*model.SubAgent
	// chat is its knowledge base chat. It may be nil.
	chat *model.KnowledgeBaseChat
}
