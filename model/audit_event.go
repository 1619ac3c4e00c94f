package model

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/uptrace/bun"
)

// AuditEvent records who did what. It never changes.
type AuditEvent struct {
	bun.BaseModel `bun:"table:audit_events,alias:audit_event"`
	Owned

	ID     string `bun:",pk"`
	Action AuditAction
	// TargetID is the id of the row that the action changed.
	TargetID string
	// APIKeyID is the key of the request, or of its access token. It is nil for operators with access to the
	// database.
	APIKeyID      *string
	IsAccessToken bool
	// Address is the address of the client. It is nil for operators with access to the database.
	Address   *string
	CreatedAt time.Time
}

// Cursor returns the position of the event in a list.
func (e *AuditEvent) Cursor() Cursor { return Cursor{e.CreatedAt, e.ID} }

// MarshalJSON encodes the event for exports and webhooks, with the names and values of the schema.
func (e *AuditEvent) MarshalJSON() ([]byte, error) {
	var at bytes.Buffer
	MarshalDateTime(e.CreatedAt).MarshalGQL(&at)
	return json.Marshal(struct {
		ID            string          `json:"id"`
		CreatedAt     json.RawMessage `json:"createdAt"`
		Action        AuditAction     `json:"action"`
		TargetID      string          `json:"targetId"`
		APIKeyID      *string         `json:"apiKeyId"`
		IsAccessToken bool            `json:"isAccessToken"`
		Address       *string         `json:"address"`
	}{e.ID, at.Bytes(), e.Action, e.TargetID, e.APIKeyID, e.IsAccessToken, e.Address})
}
