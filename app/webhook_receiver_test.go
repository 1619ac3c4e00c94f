package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// message is the body of a request to a webhook.
type message struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// receiver takes messages that are signed with the secret, "whsec_…". handle may be called with the same id more than
// once.
func receiver(secret string, handle func(id string, m message) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil || webhook.Verify(body, r.Header) != nil { // also refuses messages older than five minutes
			http.Error(w, "not signed", http.StatusUnauthorized)
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			http.Error(w, "not a message", http.StatusBadRequest)
			return
		}
		if err := handle(r.Header.Get("webhook-id"), m); err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		}
	}
}
