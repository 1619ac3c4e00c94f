package model

import (
	"time"

	"github.com/uptrace/bun"
)

// IdempotentRequest is a request that its client may repeat, although it is executed only once.
type IdempotentRequest struct {
	bun.BaseModel `bun:"table:idempotent_requests,alias:idempotent_request"`
	Owned

	// ID is a SHA-256 of the client's name for the request.
	ID []byte `bun:",pk"`
	// Fingerprint is a SHA-256 hash of everything that must be the same in a repeated request.
	Fingerprint []byte
	// ClaimID is the claim of the process that executes the request, or has executed it.
	ClaimID string
	// Until is the time when the row expires: the end of the lease of a request in progress, or of the lifetime of its
	// response.
	Until time.Time
	// IsOver is set if the time Until has passed. Reads compute it.
	IsOver bool `bun:",scanonly"`
	// CarriedOutAt is when the mutation was committed, if a later statement stores its response.
	CarriedOutAt *time.Time
	// IsLost is set if CarriedOutAt is so long ago that the response will never be stored. Reads compute it.
	IsLost bool `bun:",scanonly"`
	StoredResponse
}

// StoredResponse is the stored response of a request, for repeats.
type StoredResponse struct {
	// Status is the HTTP status, or 0 without a response.
	Status int `bun:",nullzero"`
	// Headers are the response's own headers.
	Headers map[string]string `bun:",nullzero"`
	// Body is nil without a response, and if the response must not or cannot be stored.
	Body []byte
}
