package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

func TestVariablesMayBeNull(t *testing.T) {
	t.Parallel()
	c := &queryCommand{File: "query ($a: Int) { agents(first: $a) { totalCount } }", Variables: "-", Var: map[string]string{"a": "1"}}
	request, _, err := c.request(strings.NewReader("null"))
	require.NoError(t, err)
	require.Len(t, request.Variables, 1)
	c.Var = nil
	request, _, err = c.request(strings.NewReader("null"))
	require.NoError(t, err)
	require.Equal(t, client.Variables{}, request.Variables)
}

func TestDocumentsAndVariablesAreUTF8(t *testing.T) {
	t.Parallel()
	c := &queryCommand{File: "{ agents(filter: {nameContains: \"Gr\xf6\xdfe\"}) { totalCount } }"}
	_, _, err := c.request(strings.NewReader(""))
	require.ErrorContains(t, err, "line 1 is not UTF-8")
	c = &queryCommand{File: "query ($a: String) { agents(filter: {nameContains: $a}) { totalCount } }",
		Var: map[string]string{"a": "Gr\xf6\xdfe"}}
	_, _, err = c.request(strings.NewReader(""))
	require.ErrorContains(t, err, "$a is not UTF-8")
}

func TestLongLinesAreRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100_000)
	var lines []string
	for line := range readLines(strings.NewReader("\ufeffHello\r\n" + long + "\n\nBye")) {
		require.NoError(t, line.err)
		lines = append(lines, line.text)
	}
	require.Equal(t, []string{"Hello", long, "", "Bye"}, lines)
}
