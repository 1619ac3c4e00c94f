package model

import (
	"time"

	"github.com/uptrace/bun"
)

// IdempotentRequest is a request that its client may repeat although it is carried out only once.
type IdempotentRequest struct {
	bun.BaseModel `bun:"table:idempotent_requests,alias:idempotent_request"`
	Owned

	// ID is a SHA-256 of the client's name for the request.
	ID []byte `bun:",pk"`
	// Fingerprint is a SHA-256 of what must be the same when the request is repeated.
	Fingerprint []byte
	// ClaimID names who carries the request out, or did.
	ClaimID string
	// Until is when the row expires: a lease while the request is under way, then the life of its answer.
	Until time.Time
	// IsOver is computed by reads: Until has passed.
	IsOver bool `bun:",scanonly"`
	// CarriedOutAt is when the mutation was committed, if its response was to be kept by a later statement.
	CarriedOutAt *time.Time
	// IsLost is computed by reads: CarriedOutAt is so long ago that nobody will keep the response any more.
	IsLost bool `bun:",scanonly"`
	KeptResponse
}

// KeptResponse is the answer to a request, kept for repeats.
type KeptResponse struct {
	// Status is the HTTP status; 0 while there is no answer.
	Status int `bun:",nullzero"`
	// Headers are the answer's own headers.
	Headers map[string]string `bun:",nullzero"`
	// Body is nil when the request was carried out and its answer must not, or cannot, be kept.
	Body []byte
}
