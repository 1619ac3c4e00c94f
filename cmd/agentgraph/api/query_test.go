package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

func TestVariablesMayBeNull(t *testing.T) {
	t.Parallel()
	c := &Query{File: "query ($a: Int) { agents(first: $a) { totalCount } }", Variables: "-", Var: map[string]string{"a": "1"}}
	request, _, err := c.request(strings.NewReader("null"))
	require.NoError(t, err)
	require.Len(t, request.Variables, 1)
	c.Var = nil
	request, _, err = c.request(strings.NewReader("null"))
	require.NoError(t, err)
	require.Equal(t, client.Variables{}, request.Variables)
}

func TestLongLinesAreRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100_000)
	var lines []string
	for line := range readLines(strings.NewReader("Hello\r\n" + long + "\n\nBye")) {
		lines = append(lines, line)
	}
	require.Equal(t, []string{"Hello", long, "", "Bye"}, lines)
}
