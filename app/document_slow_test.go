package app_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// An upload that makes no progress ends, even if the request's time limit is longer.
func TestStalledUploadIsRefused(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	settings := gateway.DefaultSettings()
	settings.RequestTimeout = 500 * time.Millisecond
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	_, key := g.company(t, "SLOW")
	for _, path := range []string{"/Dataset/dataset_none/document", "/graphql"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			body, send := io.Pipe()
			defer func() { _ = send.Close() }()
			go func() {
				_, err := io.WriteString(send, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n")
				for err == nil {
					<-time.After(often)
					_, err = io.WriteString(send, "a")
				}
			}()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, body)
			require.NoError(t, err)
			request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			request.Header.Set("X-Api-Key", key)
			request.Header.Set("GraphQL-Require-Preflight", "1")
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusRequestTimeout, response.StatusCode, "%s", text)
			require.Contains(t, string(text), "the body arrived too slowly")
		})
	}
}
