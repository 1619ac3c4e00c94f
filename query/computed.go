package query

import (
	"strconv"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

type computation struct {
	columns []string
	write   func(dst []byte, values func(column int) []byte) []byte
}

// computed lists the fields that a method of the row computes from several columns or converts from one.
var computed = map[string]computation{
	"SimulationChat.status": {[]string{"status", "reply_until"}, func(dst []byte, value func(int) []byte) []byte {
		chat := model.SimulationChat{State: model.SimulationChatStatus(value(0)), ReplyUntil: optionalTime(value(1))}
		return appendText(dst, string(chat.Status()))
	}},
	"SimulationChat.messageCount": {[]string{"last_sequence"}, func(dst []byte, value func(int) []byte) []byte {
		return strconv.AppendInt(dst, integerOf(value(0)), 10)
	}},
	"SimulationChatMessage.id": {[]string{"chat_id", "sequence"}, func(dst []byte, value func(int) []byte) []byte {
		message := model.SimulationChatMessage{ChatID: string(value(0)), Sequence: int32(integerOf(value(1)))}
		return appendText(dst, message.ID())
	}},
	"ToolCall.isReal": {[]string{"is_real", "mocked", "kind", "error", "is_outcome_unknown"},
		func(dst []byte, value func(int) []byte) []byte {
			call := model.ToolCall{Mocked: isTrue(value(1)), Kind: model.ToolCallKind(value(2)),
				IsOutcomeUnknown: isTrue(value(4))}
			if real := value(0); real != nil {
				call.Real = new(isTrue(real))
			}
			if message := value(3); message != nil {
				call.Error = new(string(message))
			}
			return strconv.AppendBool(dst, call.IsReal())
		}},
	"ToolCall.approvalUntil": {[]string{"approval", "approval_until"}, func(dst []byte, value func(int) []byte) []byte {
		call := model.ToolCall{WaitsUntil: optionalTime(value(1))}
		if approval := value(0); approval != nil {
			call.Approval = new(model.ToolCallApproval(approval))
		}
		if until := call.ApprovalUntil(); until != nil {
			return appendTime(dst, *until)
		}
		return append(dst, "null"...)
	}},
	"CampaignItemEvent.id": {[]string{"item_id", "number"}, func(dst []byte, value func(int) []byte) []byte {
		event := model.CampaignItemEvent{ItemID: string(value(0)), Number: int32(integerOf(value(1)))}
		return appendText(dst, event.ID())
	}},
	"AgentTestExecution.status": {[]string{"status", "finished_at"}, func(dst []byte, value func(int) []byte) []byte {
		execution := model.AgentTestExecution{State: model.AgentTestExecutionStatus(value(0)),
			FinishedAt: optionalTime(value(1))}
		return appendText(dst, string(execution.Status()))
	}},
	"CampaignItem.claimedUntil": {[]string{"running_status", "claim_id", "due_at"},
		func(dst []byte, value func(int) []byte) []byte {
			item := model.CampaignItem{RunningStatus: model.CampaignItemStatus(value(0)), DueAt: timeOf(value(2))}
			if value(1) != nil {
				item.ClaimID = new(string)
			}
			if until := item.ClaimedUntil(); until != nil {
				return appendTime(dst, *until)
			}
			return append(dst, "null"...)
		}},
}

func isTrue(value []byte) bool { return len(value) > 0 && value[0] != 0 }

func optionalTime(value []byte) *time.Time {
	if value == nil {
		return nil
	}
	at := timeOf(value)
	return &at
}

func (c computation) writer(r *read) writeRow {
	at := model.Map(c.columns, func(column string) int { return r.column(column) })
	return func(a *response, dst []byte, row int) []byte {
		rows := &a.lookups[r.index].rows
		return c.write(dst, func(column int) []byte { return rows.value(row, at[column]) })
	}
}
