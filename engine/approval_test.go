package engine_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// refunds is a clinic whose agent has a tool that needs approval.
type refunds struct {
	*clinic
	tool *model.Tool
	made atomic.Int32
	e    *engine.Engine
	chat *model.SimulationChat
}

func newRefunds(t *testing.T, approval model.ToolApproval) *refunds {
	t.Helper()
	r := &refunds{clinic: newClinic(t, nil)}
	r.tool = r.clinic.tool(t, r.agent, "refund", serve(t, func(w http.ResponseWriter, _ *http.Request) {
		r.made.Add(1)
		_, _ = io.WriteString(w, "refunded")
	}))
	// Replicas of tests have no secret key, so the endpoint has no headers.
	endpoint := &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: r.tool.Endpoint.URL, TimeoutSeconds: 5,
		Headers: model.JSONObject(`{}`)}
	_, err := r.tenant.UpdateTool(t.Context(), model.UpdateToolInput{ToolID: r.tool.ID, Approval: &approval,
		Endpoint: endpoint})
	require.NoError(t, err)
	r.e = newEngine(once("refund", `{"day":"Monday"}`), engine.Options{Caller: loopback(t)})
	r.chat = r.start(t, r.e, nil)
	return r
}

// reply is the agent's answer to a message.
type reply struct {
	text string
	err  error
}

func (r *refunds) send(ctx context.Context) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		_, messages, err := send(ctx, r.e, r.tenant, r.chat.ID, "Refund me")
		if err != nil {
			done <- reply{err: err}
			return
		}
		done <- reply{text: messages[1].Text}
	}()
	return done
}

// leaveWaiting sends a message whose sender leaves while a call waits for a person. It returns the call.
func (r *refunds) leaveWaiting(t *testing.T) *model.ToolCall {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	done := r.send(ctx)
	call := r.pending(t)
	leave()
	requireCode(t, model.Conflict, (<-done).err)
	return call
}

// pending waits for the one call that waits for a person.
func (r *refunds) pending(t *testing.T) *model.ToolCall {
	t.Helper()
	var calls []*model.ToolCall
	require.Eventually(t, func() bool {
		found, err := dbtest.Find[*model.ToolCall](t.Context(), r.tenant, db.PendingApprovalsOfChats, []string{r.chat.ID})
		require.NoError(t, err)
		calls = found
		return len(calls) == 1
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, "refund", calls[0].TechnicalName)
	require.JSONEq(t, `{"day":"Monday"}`, string(calls[0].Arguments))
	return calls[0]
}

func answer(t *testing.T, tenant *db.Tenant, id string, isApproved bool, note *string) {
	t.Helper()
	_, err := tenant.AnswerToolApproval(t.Context(), model.AnswerToolApprovalInput{ToolCallID: id, IsApproved: isApproved,
		Note: note})
	require.NoError(t, err)
}

func TestAPersonApprovesACall(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	events := r.follow(t, r.chat.ID)
	done := r.send(t.Context())
	call := r.pending(t)
	var heard []model.ToolCallApproval
	hear := func() {
		for before := len(heard); len(heard) == before; {
			event := next(events)
			require.NotNil(t, event)
			if changed, ok := event.(model.ToolApprovalChanged); ok {
				require.Equal(t, call.ID, changed.ID)
				heard = append(heard, changed.Approval)
			}
		}
	}
	hear() // if the answer came before this event, only the answer would be announced
	require.Zero(t, r.made.Load())
	approved, err := r.tenant.AnswerToolApproval(t.Context(), model.AnswerToolApprovalInput{ToolCallID: call.ID,
		IsApproved: true, Note: new("It is our fault.")})
	require.NoError(t, err)
	require.Equal(t, "the call was approved, but has not been made yet", *approved.Error)
	require.Equal(t, reply{text: "refunded"}, <-done)
	require.EqualValues(t, 1, r.made.Load())
	kept := r.calls(t, r.chat.ID)
	require.Len(t, kept, 1)
	require.Equal(t, call.ID, kept[0].ID)
	require.Equal(t, model.ToolCallApprovalApproved, *kept[0].Approval)
	require.Equal(t, "It is our fault.", *kept[0].ApprovalNote)
	require.Nil(t, kept[0].ApprovalUntil())
	require.Equal(t, "refunded", *kept[0].Result)
	require.True(t, kept[0].IsTurnKept)
	_, err = r.tenant.AnswerToolApproval(t.Context(), model.AnswerToolApprovalInput{ToolCallID: call.ID})
	requireCode(t, model.Conflict, err)

	hear()
	require.Equal(t, []model.ToolCallApproval{model.ToolCallApprovalPending, model.ToolCallApprovalApproved}, heard)
}

func TestAPersonDeniesACall(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	done := r.send(t.Context())
	answer(t, r.tenant, r.pending(t).ID, false, new("Ask the manager"))
	require.Equal(t, "The call failed: a person did not approve the call, so nothing was done: Ask the manager.",
		(<-done).text)
	require.Zero(t, r.made.Load())
	require.Equal(t, model.ToolCallApprovalDenied, *r.calls(t, r.chat.ID)[0].Approval)
}

// A person approves a call of the tool as it is then, so the tool must not change until the call is made.
func TestAnApprovedCallNeedsTheSameTool(t *testing.T) {
	t.Parallel()
	update := func(r *refunds, change model.UpdateToolInput) error {
		change.ToolID = r.tool.ID
		_, err := r.tenant.UpdateTool(t.Context(), change)
		return err
	}
	for name, change := range map[string]func(r *refunds) error{
		"another address": func(r *refunds) error {
			return update(r, model.UpdateToolInput{Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost,
				URL: r.tool.Endpoint.URL + "/other", TimeoutSeconds: 5, Headers: model.JSONObject(`{}`)}})
		},
		"forbidden": func(r *refunds) error {
			return update(r, model.UpdateToolInput{Approval: new(model.ToolApprovalDeny)})
		},
		"disconnected": func(r *refunds) error {
			_, err := r.tenant.DisconnectTool(t.Context(), model.DisconnectToolInput{AgentID: r.agent.ID, ToolID: r.tool.ID})
			return err
		},
		"deleted": func(r *refunds) error { return r.tenant.DeleteTool(t.Context(), r.tool.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefunds(t, model.ToolApprovalAsk)
			done := r.send(t.Context())
			call := r.pending(t)
			require.NoError(t, change(r))
			answer(t, r.tenant, call.ID, true, nil)
			require.Equal(t, "The call failed: the tool was changed or removed from the agent after a person was asked, "+
				"so nothing was done.", (<-done).text)
			require.False(t, r.calls(t, r.chat.ID)[0].IsReal())

			left := newRefunds(t, model.ToolApprovalAsk)
			call = left.leaveWaiting(t)
			require.NoError(t, change(left))
			answer(t, left.tenant, call.ID, true, nil)
			require.NoError(t, left.store.Work(t.Context(), 1, db.Workers{ContinueChat: left.e.ContinueChat}))
			require.Contains(t, left.answered(t), "failed")
			require.Zero(t, r.made.Load()+left.made.Load())
		})
	}
}

func TestNobodyAnswersInTime(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	done := r.send(t.Context())
	call := r.pending(t)
	r.late(t)
	require.Contains(t, (<-done).text, "nobody answered within 10 minutes")
	_, err := r.tenant.AnswerToolApproval(t.Context(),
		model.AnswerToolApprovalInput{ToolCallID: call.ID, IsApproved: true})
	requireCode(t, model.Conflict, err)
	require.Zero(t, r.made.Load())
}

// late ends the time in which a person may approve the call.
func (r *refunds) late(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), "UPDATE tool_calls SET approval_until = now() - interval '1 second'")
	require.NoError(t, err)
}

func TestForbiddenToolsAreNotCalled(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalDeny)
	require.Equal(t, "The call failed: this tool must not be called, so nothing was done.", (<-r.send(t.Context())).text)
	coverage, err := r.e.Coverage(t.Context(), r.tenant, []*model.SimulationChat{r.chat})
	require.NoError(t, err)
	require.Equal(t, model.CallEffectDenied, coverage[r.chat.ID][0].Effect)
	// A mocked call needs no approval.
	mocked := r.start(t, r.e, &model.ToolMocking{MockAllTools: true})
	_, messages, err := send(t.Context(), r.e, r.tenant, mocked.ID, "Refund me")
	require.NoError(t, err)
	require.Contains(t, messages[1].Text, "success")
	require.Zero(t, r.made.Load())
}

func TestAWaitingChatOutlivesItsClient(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	events := r.follow(t, r.chat.ID)
	call := r.leaveWaiting(t)
	require.Equal(t, call.ID, r.pending(t).ID, "it still waits")
	var failed model.TurnFailed
	for isTold := false; !isTold; {
		event := next(events)
		require.NotNil(t, event)
		failed, isTold = event.(model.TurnFailed)
	}
	require.True(t, failed.IsSuspended)
	replica := dbtest.Reopen(t, r.store)
	answer(t, replica.Tenant(r.companyID), call.ID, true, nil)
	require.NoError(t, replica.Work(t.Context(), 1, db.Workers{ContinueChat: r.e.ContinueChat}))
	r.requireRefunded(t)
}

// A call no longer waits once the chat continued without it or ended.
func TestGivenUpCallsAreDenied(t *testing.T) {
	t.Parallel()
	sayOnly := newEngine(actor(func(context.Context, llm.Request) (llm.Answer, error) {
		return say("Fine.")
	}), engine.Options{})
	fail := newEngine(actor(func(context.Context, llm.Request) (llm.Answer, error) {
		return llm.Answer{}, errors.New("the model is down")
	}), engine.Options{})
	for name, proceed := range map[string]func(r *refunds, leave func()) error{
		"another message": func(r *refunds, leave func()) error {
			leave()
			_, _, err := send(t.Context(), sayOnly, r.tenant, r.chat.ID, "Never mind")
			return err
		},
		"a message that fails": func(r *refunds, leave func()) error {
			leave()
			if _, _, err := send(t.Context(), fail, r.tenant, r.chat.ID, "Never mind"); err == nil {
				return errors.New("the message did not fail")
			}
			return nil
		},
		"the end of a waiting chat": func(r *refunds, leave func()) error {
			leave()
			_, err := r.tenant.EndSimulationChat(t.Context(), r.chat.ID)
			return err
		},
		"the end during the turn": func(r *refunds, leave func()) error {
			_, err := r.tenant.EndSimulationChat(t.Context(), r.chat.ID)
			leave()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefunds(t, model.ToolApprovalAsk)
			events := r.follow(t, r.chat.ID)
			ctx, leave := context.WithCancel(t.Context())
			done := r.send(ctx)
			call := r.pending(t)
			require.NoError(t, proceed(r, func() {
				leave()
				requireCode(t, model.Conflict, (<-done).err)
			}))
			for isTold := false; !isTold; {
				switch event := next(events).(type) {
				case model.ToolApprovalChanged:
					if isTold = event.Approval != model.ToolCallApprovalPending; isTold {
						require.Equal(t, call.ID, event.ID)
						require.Equal(t, model.ToolCallApprovalDenied, event.Approval)
						require.Nil(t, event.ApprovalUntil)
					}
				case model.ChatEnded:
					isTold = true // a follower may read that the chat has ended before the change is announced
				case nil:
					require.Fail(t, "the follower must hear that the call no longer waits")
				}
			}
			kept := r.calls(t, r.chat.ID)[0]
			require.Equal(t, model.ToolCallApprovalDenied, *kept.Approval)
			require.Nil(t, kept.WaitsUntil)
			require.Equal(t, model.TurnEnded, *kept.ApprovalNote)
			require.Equal(t, model.DeniedError(new(model.TurnEnded)), *kept.Error)
			require.Zero(t, r.made.Load())
		})
	}
}

// The agent answers without repeating the approved call, so the call is never made.
func TestGivenUpCallsMayBeApproved(t *testing.T) {
	t.Parallel()
	sayOnly := newEngine(actor(func(context.Context, llm.Request) (llm.Answer, error) {
		return say("Fine.")
	}), engine.Options{})
	r := newRefunds(t, model.ToolApprovalAsk)
	call := r.leaveWaiting(t)
	answer(t, r.tenant, call.ID, true, new("It is our fault."))
	_, _, err := send(t.Context(), sayOnly, r.tenant, r.chat.ID, "Never mind")
	require.NoError(t, err)
	kept := r.calls(t, r.chat.ID)[0]
	require.Equal(t, model.ToolCallApprovalApproved, *kept.Approval)
	require.Equal(t, "It is our fault.", *kept.ApprovalNote)
	require.Equal(t, model.ApprovedInVain, *kept.Error)
	require.Nil(t, kept.WaitsUntil)
	require.Zero(t, r.made.Load())
}

// The contact does not wait for a person, and sends another message. The first one stays in the chat.
func TestAnotherMessageKeepsTheWaitingOne(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	call := r.leaveWaiting(t)
	var sent []llm.Message
	sayOnly := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		sent = req.Messages
		return say("Fine.")
	}), engine.Options{})
	_, _, err := send(t.Context(), sayOnly, r.tenant, r.chat.ID, "Never mind")
	require.NoError(t, err)
	messages, err := r.tenant.MessagesOfChats(t.Context(), []string{r.chat.ID})
	require.NoError(t, err)
	var texts []string
	for i, m := range messages {
		require.EqualValues(t, i+1, m.Sequence)
		texts = append(texts, m.Text)
	}
	require.Equal(t, []string{"Refund me", "Never mind", "Fine."}, texts)
	require.Equal(t, call.StartedAt.UnixMicro(), messages[0].Timestamp.UnixMicro())
	kept := r.calls(t, r.chat.ID)[0]
	require.Equal(t, model.ToolCallApprovalDenied, *kept.Approval)
	require.EqualValues(t, 1, kept.MessageSequence)

	// The model sees the message, and that the call was denied.
	require.Len(t, sent, 4)
	require.Equal(t, "Refund me", sent[0].Text)
	require.Equal(t, call.ID, sent[1].ToolCalls[0].ID)
	require.Contains(t, sent[2].Text, model.DeniedError(new(model.TurnEnded)))
	require.Equal(t, "Never mind", sent[3].Text)
}

// If the sender of another message leaves before the waiting one is kept, the waiting one still waits.
func TestAWaitingMessageOutlivesTheSenderOfAnother(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	call := r.leaveWaiting(t)
	conn, err := pgx.Connect(t.Context(), r.address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE tool_calls IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := send(ctx, r.e, r.tenant, r.chat.ID, "Never mind")
		done <- err
	}()
	require.Eventually(t, func() bool {
		isClaimed := false
		require.NoError(t, tx.QueryRow(t.Context(),
			"SELECT reply_until > clock_timestamp() FROM simulation_chats WHERE id = $1", r.chat.ID).Scan(&isClaimed))
		return isClaimed
	}, time.Minute, 5*time.Millisecond)
	leave()
	require.Error(t, <-done)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, call.ID, r.pending(t).ID)
	answer(t, r.tenant, call.ID, true, nil)
	require.NoError(t, r.store.Work(t.Context(), 1, db.Workers{ContinueChat: r.e.ContinueChat}))
	r.requireRefunded(t)
}

func TestAWaitingChatOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, isApproved := range map[string]bool{"approved": true, "late": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefunds(t, model.ToolApprovalAsk)
			// A process begins the turn, asks, and dies.
			died, err := r.tenant.BeginChatTurn(t.Context(), r.chat.ID, 100*time.Millisecond)
			require.NoError(t, err)
			call := &model.ToolCall{ID: model.NewID("call"), Kind: model.ToolCallKindTool, TargetID: &r.tool.ID,
				TechnicalName: "refund", Arguments: model.JSONObject(`{"day":"Monday"}`), StartedAt: engine.Now()}
			require.NoError(t, died.RequestApproval(t.Context(), call, "Refund me"))
			replica := dbtest.Reopen(t, r.store)
			require.NoError(t, replica.Work(t.Context(), 1, db.Workers{ContinueChat: r.e.ContinueChat}))
			if isApproved {
				answer(t, r.tenant, r.pending(t).ID, true, nil)
				r.requireRefunded(t)
				return
			}
			r.pending(t)
			r.late(t)
			require.Contains(t, r.answered(t), "nobody answered within 10 minutes")
			require.Zero(t, r.made.Load())
		})
	}
}

// answered waits for the agent's answer.
func (r *refunds) answered(t *testing.T) string {
	t.Helper()
	var messages []*model.SimulationChatMessage
	require.Eventually(t, func() bool {
		found, err := r.tenant.MessagesOfChats(t.Context(), []string{r.chat.ID})
		require.NoError(t, err)
		messages = found
		return len(messages) == 2
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "Refund me", messages[0].Text)
	return messages[1].Text
}

func (r *refunds) requireRefunded(t *testing.T) {
	t.Helper()
	require.Equal(t, "refunded", r.answered(t))
	require.EqualValues(t, 1, r.made.Load())
	kept := r.calls(t, r.chat.ID)
	require.Len(t, kept, 1)
	require.Equal(t, model.ToolCallApprovalApproved, *kept[0].Approval)
	require.Equal(t, "refunded", *kept[0].Result)
	chat, err := r.tenant.SimulationChat(t.Context(), r.chat.ID)
	require.NoError(t, err)
	require.Nil(t, chat.WaitingText)
	require.Equal(t, model.SimulationChatStatusOpen, chat.Status())
}

func TestReplicasAnswerForEachOther(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	done := r.send(t.Context())
	answer(t, dbtest.Reopen(t, r.store).Tenant(r.companyID), r.pending(t).ID, true, nil)
	require.Equal(t, reply{text: "refunded"}, <-done)
	require.EqualValues(t, 1, r.made.Load())
}

func TestATestHasNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	run := &model.AgentTestRun{Snapshot: model.RunSnapshot{Agent: r.agent, Test: &model.AgentTestRow{}}}
	run.OwnBy(r.companyID)
	reply, calls, err := r.e.Rehearse(t.Context(), r.tenant, run, &engine.Meter{}).Answer(t.Context(), engine.Situation{
		Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Refund me"}}})
	require.NoError(t, err)
	require.Contains(t, reply.Text, "mock the tool")
	require.Len(t, calls, 1)
	require.Zero(t, r.made.Load())
}

func TestVariantsNeedTheChatWhoseSettingsTheyTry(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	agent := *r.agent
	agent.Tried.PromptSettings = &model.PromptSettingsInput{TopN: new(int32(1))}
	run := &model.AgentTestRun{Snapshot: model.RunSnapshot{Agent: &agent, Test: &model.AgentTestRow{}}}
	run.OwnBy(r.companyID)
	_, _, err := r.e.Rehearse(t.Context(), r.tenant, run, &engine.Meter{}).Answer(t.Context(), engine.Situation{
		Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Refund me"}}})
	require.ErrorContains(t, err, "its knowledge base chat was disconnected")
}

func TestATrialIsApprovedByItsCaller(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	outcome, err := r.e.CallTool(t.Context(), r.tenant, model.CallToolInput{ToolID: r.tool.ID,
		Arguments: model.JSONObject(`{"day":"Monday"}`)})
	require.NoError(t, err)
	require.Equal(t, "refunded", *outcome.Result)
	require.False(t, strings.Contains(*outcome.Result, "approve"))
}

// Turns that wait for a person hold memory, so a company can have a limited number of them in a process.
func TestWaitingTurnsOfACompanyAreSuspendedBeyondALimit(t *testing.T) {
	t.Parallel()
	r := newRefunds(t, model.ToolApprovalAsk)
	ctx, leave := context.WithCancel(t.Context())
	held := make(chan error, engine.MaxWaitingCalls)
	chats := map[string]bool{}
	for range engine.MaxWaitingCalls {
		id := r.start(t, r.e, nil).ID
		chats[id] = true
		go func() {
			_, _, err := send(ctx, r.e, r.tenant, id, "Refund me")
			held <- err
		}()
	}
	require.Eventually(t, func() bool {
		found, err := dbtest.Find[*model.ToolCall](t.Context(), r.tenant, db.PendingApprovalsOfChats,
			slices.Collect(maps.Keys(chats)))
		require.NoError(t, err)
		return len(found) == engine.MaxWaitingCalls
	}, time.Minute, 5*time.Millisecond)
	require.Empty(t, held)

	_, _, err := send(t.Context(), r.e, r.tenant, r.chat.ID, "Refund me")
	requireCode(t, model.Conflict, err)
	require.ErrorContains(t, err, "the agent answers after that")
	call := r.pending(t)

	leave()
	for range engine.MaxWaitingCalls {
		requireCode(t, model.Conflict, <-held)
	}
	answer(t, r.tenant, call.ID, true, nil)
	require.NoError(t, r.e.ContinueChat(t.Context(), r.tenant, r.chat.ID, 0))
	require.EqualValues(t, 1, r.made.Load())
}
