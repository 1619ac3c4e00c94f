package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// client sends operations to the replicas in turn, as a load balancer would.
type client struct {
	ledger    *ledger
	key       string
	addresses []string
	// avoided marks the addresses that get no requests at present.
	avoided [2]atomic.Bool
	turn    atomic.Int64
	http    http.Client
}

const (
	// requestTimeout bounds one attempt. patience bounds all attempts of an operation together.
	requestTimeout = 35 * time.Second
	patience       = 45 * time.Second
	// retryEvery is how long a client waits before it sends an operation again.
	retryEvery = 250 * time.Millisecond
	// modelPatience is how many failures of the model a client accepts for an operation.
	modelPatience = 8
)

// outcome is what the client knows after an attempt.
type outcome int

const (
	acknowledged outcome = iota
	// again means that the request was not executed and may be sent again. doubtful means that it may have been executed.
	again
	doubtful
	// modelFailed means that the request was not executed, because its model failed.
	modelFailed
	refused
	// repeated means that the request was refused because an earlier attempt was executed.
	repeated
)

// try sends an operation until it is acknowledged, and decodes its data. It then sends one operation in ten again, like
// a client that did not get the response.
func (c *client) try(ctx context.Context, kind, name, document string, variables map[string]any, into any) bool {
	o := c.ledger.begin(kind, name)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// The Idempotency-Key includes the variables. A dialer that claims an item again reports it with another claim id, so
	// that request needs another key.
	once := fmt.Sprintf("%s %x", kind, sha256.Sum256(fmt.Append(nil, variables)))
	failures := 0
	for {
		result, why := c.send(ctx, o, once, document, variables, into)
		switch result {
		case acknowledged:
			c.ledger.acknowledge(o)
			if c.turn.Load()%10 == 0 {
				_, _ = c.send(ctx, o, once, document, variables, nil)
			}
			return true
		case refused:
			c.ledger.refuse(o, why)
			return false
		case repeated:
			c.ledger.confirmEarlier(o, why)
			return false
		case doubtful:
			c.ledger.doubt(o)
		case modelFailed:
			if failures++; failures == modelPatience {
				return false
			}
		}
		if !pause(ctx, retryEvery) {
			return false
		}
	}
}

// send sends an operation once. o is nil if the operation is not in the ledger. The returned text says why the server
// refused it.
func (c *client) send(ctx context.Context, o *operation, once, document string, variables map[string]any,
	into any) (outcome, string) {
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		return refused, err.Error()
	}
	address := c.next()
	attempt, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(attempt, http.MethodPost, address+"/graphql", bytes.NewReader(body))
	if err != nil {
		return refused, err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("Idempotency-Key", once)
	// net/http itself retries a request with an Idempotency-Key if its connection breaks.
	var sent atomic.Int64
	request = request.WithContext(httptrace.WithClientTrace(attempt,
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Add(1) }}))
	response, err := c.http.Do(request)
	for range sent.Load() - 1 {
		c.ledger.doubt(o)
	}
	if err != nil {
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" {
			return doubtful, ""
		}
		if sent.Load() > 0 {
			c.ledger.doubt(o)
		}
		c.ledger.unreached.Add(1)
		return again, "" // no replica received it
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return doubtful, ""
	}
	return judge(text, into)
}

// next returns the next address that is not avoided.
func (c *client) next() string {
	i := int(c.turn.Add(1)) % len(c.addresses)
	if c.avoided[i].Load() {
		i = (i + 1) % len(c.addresses)
	}
	return c.addresses[i]
}

// avoid sets whether the address with the index is avoided.
func (c *client) avoid(i int, isAvoided bool) { c.avoided[i].Store(isAvoided) }

// judge returns the outcome of a response, and decodes its data.
func judge(text []byte, into any) (outcome, string) {
	var read struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return doubtful, "" // not the program's response
	}
	if len(read.Errors) == 0 {
		if into != nil && json.Unmarshal(read.Data, into) != nil {
			return refused, "the response is not as the schema says"
		}
		return acknowledged, ""
	}
	switch first := read.Errors[0]; first.Extensions.Code {
	case "CONFLICT":
		return again, first.Message
	case "UPSTREAM_FAILED":
		return modelFailed, first.Message
	case "UNAVAILABLE", "INTERNAL", "TIMEOUT":
		return doubtful, first.Message
	case "UNPROCESSABLE":
		isMade := strings.Contains(first.Message, "the name of another")
		if isMade || strings.Contains(first.Message, "was executed, but its response was lost") {
			return repeated, first.Message
		}
	}
	return refused, read.Errors[0].Extensions.Code + ": " + read.Errors[0].Message
}
