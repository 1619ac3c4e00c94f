package provider_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

func TestDetailsOfFailuresAreForTheLog(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"hunter2","type":"invalid_request_error","param":"stream_options","code":null}}`: "type=" +
			"invalid_request_error param=stream_options",
		`{"error":{"message":"hunter2","type":"invalid_request_error","param":"messages[0].content","code":"unknown"}}`: "type=" +
			"invalid_request_error code=unknown param=messages[0].content",
		`{"object":"error","message":"hunter2","type":"BadRequestError","param":null,"code":400}`:          "type=BadRequestError code=400",
		` [{"error":{"code":400,"message":"hunter2","status":"INVALID_ARGUMENT"}}]`:                        "code=400 status=INVALID_ARGUMENT",
		`{"type":"error","error":{"type":"invalid_request_error","message":"hunter2"}}`:                    "type=invalid_request_error",
		`{"error":"model 'hunter2' not found"}`:                                                            "<nil>",
		`{"error":{"type":"it quotes hunter2","code":"key-1","param":"` + strings.Repeat("x", 101) + `"}}`: "<nil>",
		`{"error":{"type":["x"],"code":{"a":1},"param":true}}`:                                             "<nil>",
		`<html>hunter2</html>`: "<nil>",
	} {
		_, model := speak(t, provider.Completions, func(c *provider.Config) { c.Key = "key-1" }, refuse(400, "", "", body))
		_, err := llm.Collect(model.Chat(t.Context(), hello))
		failed := requireFailure(t, err)
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("turn failed", "error", err, llm.ErrorAttr(err))
		require.Equal(t, want, fmt.Sprint(failed.Err), body)
		require.Contains(t, log.String(), "provider.status=400")
		require.NotContains(t, log.String(), "hunter2")
		require.NotContains(t, err.Error(), "param")
	}
	_, model := speak(t, provider.Completions, nil,
		events(event(`{"error":{"message":"hunter2","type":"server_error","code":503}}`)))
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	require.EqualError(t, requireFailure(t, err).Err, "type=server_error code=503")
}
