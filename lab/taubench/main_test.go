package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded returns an invented trial. Its agent makes the calls, which are pairs of arguments and results, and then
// says the text.
func recorded(number int, reward float64, says string, calls ...[2]string) map[string]any {
	type fields = map[string]any
	messages := []any{fields{"role": "user", "content": "Cancel trip A1, and tell me what I get back."}}
	for i, call := range calls {
		id := string(rune('a' + i))
		messages = append(messages,
			fields{"role": "assistant", "content": nil, "tool_calls": []any{
				fields{"id": id, "function": fields{"name": "cancel_reservation", "arguments": call[0]}}}},
			fields{"role": "tool", "tool_call_id": id, "content": call[1]})
	}
	messages = append(messages, fields{"role": "assistant", "content": says}, fields{"role": "user", "content": "###STOP###"})
	return fields{"task_id": 7, "trial": number, "reward": reward, "traj": messages,
		"info": fields{"task": fields{"instruction": "You want to cancel trip A1.", "outputs": []string{"1200"},
			"actions": []any{fields{"name": "cancel_reservation", "kwargs": fields{"reservation_id": "A1"}}}}}}
}

func TestTrialsAreJudgedLikeTauBench(t *testing.T) {
	t.Parallel()
	const right, wrong = `{"reservation_id": "A1"}`, `{"reservation_id": "B2"}`
	unfinished := recorded(4, 0, "You get $1,200.", [2]string{right, "{}"})
	unfinished["traj"] = unfinished["traj"].([]any)[:4]
	text, err := json.Marshal([]any{
		recorded(0, 1, "You get $1,200.", [2]string{right, "{}"}),
		recorded(1, 1, "You get $1,200.", [2]string{right, "Error: try again"}, [2]string{right, "{}"}),
		recorded(2, 0, "You get $1,200.", [2]string{wrong, "{}"}),
		recorded(3, 0, "You get nothing.", [2]string{right, "{}"}),
		unfinished,
		recorded(5, 1, "You get $1,200.", [2]string{wrong, "{}"}), // tau-bench would not give this reward
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "trials.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out := &strings.Builder{}
	require.NoError(t, run(t.Context(), []string{file}, out))
	require.Contains(t, out.String(), `trials.json: 6 conversations
  false passes: 0 of 3 that tau-bench fails
  false failures: 1 of 3 that tau-bench passes
    task 7, trial 5: successfully calls cancel_reservation with reservation_id = A1, once: `)
	require.Contains(t, out.String(), "simulated from the 1 pass rates")

	require.NoError(t, os.WriteFile(file, []byte("[]"), 0o600))
	require.ErrorContains(t, run(t.Context(), []string{file}, out), "has no trials of tau-bench")
}
