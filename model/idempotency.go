package model

import (
	"time"

	"github.com/uptrace/bun"
)

// IdempotentRequest is a request that its client may repeat without its being carried out again.
type IdempotentRequest struct {
	bun.BaseModel `bun:"table:idempotent_requests,alias:idempotent_request"`
	Owned

	// ID is a SHA-256 of what the client names the request by.
	ID []byte `bun:",pk"`
	// Fingerprint is a SHA-256 of what must be the same when the request is repeated.
	Fingerprint []byte
	// ClaimID tells who carries the request out, or did so.
	ClaimID string
	// Until is when the row counts no more: the end of a lease while the request is under way, then that of its answer.
	Until time.Time
	// IsOver is set where rows are read: Until has passed.
	IsOver bool `bun:",scanonly"`
	KeptResponse
}

// KeptResponse is what a request was answered, for those who repeat it.
type KeptResponse struct {
	// Status is that of HTTP; 0 while there is no answer.
	Status int `bun:",nullzero"`
	// Headers are those that belong to the answer.
	Headers map[string]string `bun:",nullzero"`
	// Body is nil when the request was carried out and its answer must not, or cannot, be kept.
	Body []byte
}
