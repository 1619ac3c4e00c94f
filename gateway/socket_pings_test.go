package gateway_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

const pingsBetweenBeats = 1_000

func TestSocketsWithTooManyPingsAreClosed(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, flood := range map[string]func(c *client){
		"messages": func(c *client) {
			for range pingsBetweenBeats {
				c.send(`{"type":"pong"}`)
			}
		},
		"frames": func(c *client) {
			go func() {
				for c.Ping(t.Context()) == nil {
				}
			}()
		},
		"bytes": func(c *client) {
			c.send(fmt.Sprintf(`{"type":"ping","payload":{"text":%q}}`, strings.Repeat("x", pingsBetweenBeats<<10)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := f.ready(t)
			flood(c)
			c.closes(websocket.StatusPolicyViolation)
		})
	}
}

func TestCompletionsDoNotCountAsPings(t *testing.T) {
	t.Parallel()
	c := start(t).ready(t)
	for i := range pingsBetweenBeats + 1 {
		id := strconv.Itoa(i)
		c.subscribe(id, "{ hello }")
		c.receive()
		c.receive()
		c.send(`{"type":"complete","id":"` + id + `"}`)
	}
	c.send(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
}

// After each ping of the server, the client may again send the full number of messages.
func TestPingsOfTheServerResetTheCount(t *testing.T) {
	t.Parallel()
	c := start(t, settings(func(s *gateway.Settings) { s.PingInterval = 10 * time.Millisecond })).ready(t)
	const some = pingsBetweenBeats * 2 / 3
	for i := range 3 {
		for range some {
			c.send(`{"type":"pong"}`)
		}
		id := strconv.Itoa(i)
		c.subscribe(id, "subscription { tick(milliseconds: 300) }") // reading answers the server's pings
		require.Equal(t, "next", c.receive()["type"])
		c.send(`{"type":"complete","id":"` + id + `"}`)
	}
}
