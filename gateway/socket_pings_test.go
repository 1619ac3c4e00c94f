package gateway_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
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
