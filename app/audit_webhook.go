package app

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// AuditWebhook is told of audit events. Its address is the operator's choice and may be private.
type AuditWebhook struct {
	// URL is empty if there is none.
	URL string
	// Secret signs the deliveries.
	Secret string
}

// deliverEvery is how often a process looks for audit events that are to be delivered.
const deliverEvery = time.Second

// deliver tells the webhook of all audit events until ctx ends.
func (w AuditWebhook) deliver(ctx context.Context, store *db.Store, log *slog.Logger) {
	// No proxies, and no redirects: the operator has named the address.
	client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(deliverEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := store.DeliverAuditEvents(ctx, func(ctx context.Context, companyID string, events []*model.AuditEvent) error {
			return w.post(ctx, client, companyID, events)
		})
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "audit events could not be delivered; they will be, later", "error", err)
		}
	}
}

// post sends events in one request, and returns an error unless the response is a 2xx.
func (w AuditWebhook) post(ctx context.Context, client *http.Client, companyID string, events []*model.AuditEvent) error {
	body, err := json.Marshal(struct {
		CompanyID string              `json:"companyId"`
		Events    []*model.AuditEvent `json:"events"`
	}{companyID, events})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "agentgraph")
	request.Header.Set("X-Agentgraph-Timestamp", at)
	request.Header.Set("X-Agentgraph-Signature", "sha256="+w.sign(at, body))
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("the webhook cannot be reached: %w", failed.Err) // without its address, which may hold a secret
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answered %s", response.Status)
	}
	return nil
}

// sign returns the HMAC-SHA-256 of the time, a dot and the body, in hexadecimal.
func (w AuditWebhook) sign(at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(w.Secret))
	_, _ = fmt.Fprintf(mac, "%s.%s", at, body)
	return hex.EncodeToString(mac.Sum(nil))
}
