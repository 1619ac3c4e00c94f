package engine_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/model"
)

func TestToolIsTried(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	var log dbtest.Output
	e := engine.New(nil, engine.Options{Caller: loopback(t), Log: slog.New(slog.NewTextHandler(&log, nil)),
		TraceID: func(context.Context) string { return "trace" }})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		if string(sent) == `{"day":"Sunday"}` {
			w.WriteHeader(http.StatusConflict)
		}
		_, _ = w.Write(sent)
	})
	tool, err := c.tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Book", TechnicalName: "book_it",
		Parameters: model.JSONObject(`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`),
		Endpoint:   &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: address, TimeoutSeconds: 10}})
	require.NoError(t, err)
	call := func(arguments string) (*model.CallToolPayload, error) {
		return e.CallTool(t.Context(), c.tenant, model.CallToolInput{ToolID: tool.ID, Arguments: model.JSONObject(arguments)})
	}
	answered, err := call(`{"day":"Monday"}`)
	require.NoError(t, err)
	require.Equal(t, `{"day":"Monday"}`, *answered.Result)
	require.Nil(t, answered.Error)
	require.False(t, answered.IsSample)
	failed, err := call(`{"day":"Sunday"}`)
	require.NoError(t, err)
	require.Nil(t, failed.Result)
	require.Contains(t, *failed.Error, "409")
	require.Regexp(t, `msg="call failed" tool=`+tool.ID+` name=book_it error=.*409.* traceId=trace`, log.String())
	_, err = call(`{}`)
	require.EqualError(t, err, "arguments are invalid: missing property 'day'")
	_, err = c.tenant.UpdateTool(t.Context(), model.UpdateToolInput{ToolID: tool.ID, RemoveEndpoint: true})
	require.NoError(t, err)
	_, err = call(`{"day":"Monday"}`)
	require.ErrorContains(t, err, "has no endpoint to call")
	tool.ID = "tool_none"
	_, err = call(`{}`)
	require.ErrorContains(t, err, "does not exist")
}
