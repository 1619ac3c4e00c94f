package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallsWaitUntilTheyAreAnsweredOrOverdue(t *testing.T) {
	t.Parallel()
	call := &ToolCall{}
	require.Nil(t, call.ApprovalUntil())
	call.Ask(time.Now())
	require.Equal(t, call.WaitsUntil, call.ApprovalUntil())
	call.Answer(true, nil)
	require.NotNil(t, call.WaitsUntil, "the turn has not taken up the answer")
	require.Nil(t, call.ApprovalUntil())
	call.Ask(time.Now().Add(-ApprovalWait))
	require.Nil(t, call.ApprovalUntil())
}
