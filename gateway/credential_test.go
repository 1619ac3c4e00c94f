package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

func TestBearerTokensAuthenticateRequests(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		headers   []string
		status    int
		challenge string
	}{
		"a token":                {[]string{"X-Api-Key:", "Authorization: Bearer " + goodKey}, 200, ""},
		"the scheme in any case": {[]string{"X-Api-Key:", "Authorization: bearer  " + goodKey}, 200, ""},
		"a wrong token": {[]string{"X-Api-Key:", "Authorization: Bearer agt_wrong"}, 401,
			`Bearer error="invalid_token"`},
		"no token":                 {[]string{"X-Api-Key:", "Authorization: Bearer"}, 401, "ApiKey"},
		"another scheme":           {[]string{"X-Api-Key:", "Authorization: Basic " + goodKey}, 401, "ApiKey"},
		"no scheme":                {[]string{"X-Api-Key:", "Authorization: " + goodKey}, 401, "ApiKey"},
		"the key before the token": {[]string{"X-Api-Key: " + goodKey, "Authorization: Bearer agt_wrong"}, 200, ""},
		"no token instead of a wrong key": {[]string{"X-Api-Key: ag_wrong", "Authorization: Bearer " + goodKey}, 401,
			"ApiKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, request := range []call{
				{method: "POST", path: "/graphql", body: body(t, "{ company }")},
				{method: "GET", path: "/graphql?query=%7Bcompany%7D"},
			} {
				request.headers = c.headers
				a := f.do(t, request)
				require.Equal(t, c.status, a.status, a.text)
				require.Equal(t, c.challenge, a.header.Get("WWW-Authenticate"))
			}
			status := http.StatusUnauthorized
			if c.status == http.StatusOK {
				status = http.StatusNotFound
			}
			require.Equal(t, status, f.do(t, call{method: "GET", path: "/nowhere", headers: c.headers}).status)
		})
	}
}

func TestBearerTokensAuthenticateSockets(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		headers []string
		payload string
		good    bool
	}{
		"payload":              {nil, `{"authorization":"Bearer ` + goodKey + `"}`, true},
		"payload, in capitals": {nil, `{"Authorization":"bearer ` + goodKey + `"}`, true},
		"header":               {[]string{"Authorization: Bearer " + goodKey}, `null`, true},
		"payload before header": {[]string{"X-Api-Key: ag_wrong"}, `{"authorization":"Bearer ` + goodKey + `"}`,
			true},
		"null is ignored":                 {[]string{"X-Api-Key: " + goodKey}, `{"authorization":null}`, true},
		"the key before the token":        {nil, `{"authorization":"Bearer agt_wrong","x-api-key":"` + goodKey + `"}`, true},
		"wrong":                           {nil, `{"authorization":"Bearer agt_wrong"}`, false},
		"wrong payload over good header":  {[]string{"X-Api-Key: " + goodKey}, `{"authorization":"Bearer agt_wrong"}`, false},
		"no scheme":                       {nil, `{"authorization":"` + goodKey + `"}`, false},
		"no scheme over good header":      {[]string{"X-Api-Key: " + goodKey}, `{"authorization":"` + goodKey + `"}`, false},
		"not a string":                    {nil, `{"authorization":["Bearer ` + goodKey + `"]}`, false},
		"no token instead of a wrong key": {nil, `{"authorization":"Bearer ` + goodKey + `","X-Api-Key":"ag_wrong"}`, false},
		"unknown members":                 {nil, `{"token":"` + goodKey + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := f.dial(t, c.headers...)
			s.send(`{"type":"connection_init","payload":` + c.payload + `}`)
			if !c.good {
				s.closes(4403)
				return
			}
			s.expect(`{"type":"connection_ack"}`)
			s.subscribe("1", "{ company }")
			s.expect(`{"id":"1","type":"next","payload":{"data":{"company":"c1"}}}`)
		})
	}
}

// Sockets and streams end when their token becomes invalid.
func TestStreamsEndWhenTheirTokenExpires(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PingInterval = 5 * time.Millisecond }))
	stream, _ := f.stream(t, call{
		method: "POST", path: "/graphql", body: body(t, "subscription { tick(milliseconds: 60000) }"),
		headers: []string{"X-Api-Key:", "Authorization: Bearer " + goodKey},
	})
	socket := f.dial(t)
	socket.send(`{"type":"connection_init","payload":{"authorization":"Bearer ` + goodKey + `"}}`)
	socket.expect(`{"type":"connection_ack"}`)
	socket.subscribe("1", "subscription { tick }")
	socket.receive()
	for range 3 {
		require.Equal(t, event{}, <-stream, "a heartbeat")
	}
	f.revoked.Store(true)
	socket.closes(websocket.StatusCode(4403))
	var named []event
	for e := range stream {
		if e.name != "" {
			named = append(named, e)
		}
	}
	require.Len(t, named, 2)
	require.Contains(t, named[0].data, "UNAUTHENTICATED")
	require.Equal(t, "complete", named[1].name)
	f.settles(t)
}
