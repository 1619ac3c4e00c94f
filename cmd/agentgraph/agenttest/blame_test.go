package agenttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

func TestBlameReportsAStreamThatEndsTooEarly(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: complete\ndata:\n\n")
	}))
	defer server.Close()
	connected, err := client.Flags{URL: server.URL, APIKey: "k"}.Connect(&cobra.Command{})
	require.NoError(t, err)
	err = (&blameCommand{}).follow(t.Context(), connected, "search_1", func(*searchShown) {})
	require.EqualError(t, err, "the search search_1 continues on the server, but its result could not be read: the "+
		"server ended the stream of events")
}
