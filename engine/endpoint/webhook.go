package endpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxDiscarded bounds how much of a response is read and discarded, in bytes, so that its connection can be reused.
const maxDiscarded = 64 << 10

// Message is a message to a webhook in the format of Standard Webhooks.
type Message struct {
	ID   string
	Body []byte
	// Keys sign the message, one signature each. There is at least one.
	Keys [][]byte
	// IsOperatorChosen is set if the operator chose the address, which may then be private.
	IsOperatorChosen bool
}

// Deliver posts a message as JSON to a webhook. The webhook accepts it with a status 2xx before ctx ends. Redirects are
// not followed. Deliver returns the HTTP status, or 0 without a response. Every error is an *Error.
func (c *Caller) Deliver(ctx context.Context, webhook string, m Message) (status int, err error) {
	x := &exchange{callee: "the webhook", client: &c.webhooks}
	if m.IsOperatorChosen {
		x.client = &c.operators
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, webhook, bytes.NewReader(m.Body))
	if err != nil || !isWeb(req.URL) {
		return 0, x.newError(Refused, nil, "the address of %s is not valid", x.callee)
	}
	req.Header = newHeader(true)
	if err := m.sign(req.Header, time.Now()); err != nil {
		return 0, x.newError(Arguments, err, "the message cannot be signed: rotate the webhook's secret")
	}
	res, err := x.client.Do(req)
	if err != nil {
		return 0, x.translateError(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		_, _ = io.CopyN(io.Discard, res.Body, maxDiscarded)
		return res.StatusCode, nil
	}
	if res.StatusCode >= 300 && res.StatusCode <= 399 {
		return res.StatusCode, x.newError(Status, nil, "%s answered %d, and redirects are not followed",
			x.callee, res.StatusCode)
	}
	_, failure := x.readBody(ctx, res)
	return res.StatusCode, failure
}

func (m Message) sign(header http.Header, at time.Time) error {
	signatures := make([]string, len(m.Keys))
	for i, key := range m.Keys {
		webhook, err := standardwebhooks.NewWebhookRaw(key)
		if err == nil {
			signatures[i], err = webhook.Sign(m.ID, at, m.Body)
		}
		if err != nil {
			return fmt.Errorf("sign message %s: %w", m.ID, err)
		}
	}
	header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}
