package gateway

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What handlers write stays as it is, whatever it looks like.
func TestOnlyResponsesOfTheServerItselfAreReworded(t *testing.T) {
	t.Parallel()
	const own = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	require.NotNil(t, asProblem([]byte(own)))
	for _, response := range []string{
		"", "HTTP/1.1", own + "\r\n", own[1:], " " + own, strings.Replace(own, "Connection", "Date: now\r\nConnection", 1),
		strings.Replace(own, "text/plain", "text/html", 1), strings.ReplaceAll(own, "400", "418"), own + strings.Repeat("x", 500),
		"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 1\r\n\r\nx",
	} {
		require.Nil(t, asProblem([]byte(response)), response)
	}
}
