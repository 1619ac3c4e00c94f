package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that lists the members of a schema in another order has not changed its tool.
func TestOrderOfASchemaIsNoChangeOfAnMcpServer(t *testing.T) {
	t.Parallel()
	offer := func(parameters string) []McpOffer {
		return []McpOffer{NewMcpOffer("price", "A price", []byte(parameters))}
	}
	s := &McpServer{}
	s.Refresh(offer(`{"type":"object","properties":{"a":{"const":12345678901234567890},"b":{}}}`), nil, nil, time.Now())
	tool := &Tool{McpName: new("price"), Parameters: s.Offers[0].Parameters}
	refresh := func(parameters string) (changes, changed int) {
		differences, tools := s.Refresh(offer(parameters), nil, []*Tool{tool}, time.Now())
		return len(differences), len(tools)
	}
	changes, changed := refresh(`{"properties":{"b":{},"a":{"const":12345678901234567890}},"type":"object"}`)
	require.Zero(t, changes+changed)
	require.Equal(t, `{"properties":{"b"`, string(s.Offers[0].Parameters[:18]), "the server's own order is kept")
	changes, changed = refresh(`{"type":"object","properties":{"a":{"const":12345678901234567891},"b":{}}}`)
	require.Equal(t, 2, changes+changed)
}
