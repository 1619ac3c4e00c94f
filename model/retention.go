package model

import (
	"slices"

	"github.com/uptrace/bun"
)

// RetentionKind is a kind of data that a company may keep for some time only.
type RetentionKind string

// The kinds of data. Their age counts from when something last happened to them.
const (
	// RetentionChats are simulated chats with messages and calls, from their last message.
	RetentionChats RetentionKind = "Chats"
	// RetentionExecutions are finished executions of tests with their runs, from their end.
	RetentionExecutions RetentionKind = "Executions"
	// RetentionCampaignItems are items that are Processed or in Error, with their events, from their last call.
	RetentionCampaignItems RetentionKind = "CampaignItems"
	// RetentionTombstones are notes of deleted agents and campaigns: usage then names them Unknown instead of Deleted.
	RetentionTombstones RetentionKind = "Tombstones"
	// RetentionLedger is the retention of usage entries, by their time. Older entries are replaced by one for each
	// UTC day, channel, agent and campaign. No older entries can be recorded, and sums of whole days do not change.
	RetentionLedger RetentionKind = "Ledger"
)

// AllRetentionKinds are all of them.
var AllRetentionKinds = []RetentionKind{RetentionChats, RetentionExecutions, RetentionCampaignItems,
	RetentionTombstones, RetentionLedger}

// Retention says how long a company keeps data of a kind.
type Retention struct {
	bun.BaseModel `bun:"table:retentions,alias:retention"`
	Owned

	Kind RetentionKind `bun:",pk"`
	Days int32
}

// maxRetentionDays is some more than a hundred years.
const maxRetentionDays = 40_000

// SetRetentionInput says how many days data of a kind is to be kept, 0 for ever.
type SetRetentionInput struct {
	Kind RetentionKind
	Days int32
}

// NewRetention returns BAD_INPUT for a kind that does not exist, and for days outside of 0 to 40,000.
func NewRetention(in SetRetentionInput) (*Retention, error) {
	var faults Fields
	if !slices.Contains(AllRetentionKinds, in.Kind) {
		faults.Add("kind", "must be one of %v", AllRetentionKinds)
	}
	if in.Days < 0 || in.Days > maxRetentionDays {
		faults.Add("days", "must be between 0 and %d", maxRetentionDays)
	}
	return &Retention{Kind: in.Kind, Days: in.Days}, faults.Err()
}
