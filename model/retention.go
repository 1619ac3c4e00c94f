package model

import (
	"slices"

	"github.com/uptrace/bun"
)

// RetentionKind is a kind of data that a company may keep for a limited time.
type RetentionKind string

// The kinds of data, with the event from which their age counts.
const (
	// RetentionChats are simulated chats with their messages and calls. Their age counts from the last message.
	RetentionChats RetentionKind = "Chats"
	// RetentionExecutions are finished test executions with their runs. Their age counts from the end.
	RetentionExecutions RetentionKind = "Executions"
	// RetentionCampaignItems are items that are Processed or in Error, with their events. Their age counts from the last
	// call.
	RetentionCampaignItems RetentionKind = "CampaignItems"
	// RetentionTombstones are records of deleted agents and campaigns. Without them, usage reports call these Unknown
	// instead of Deleted.
	RetentionTombstones RetentionKind = "Tombstones"
	// RetentionLedger are usage entries. Their age counts from the time of the usage. Entries that are too old are
	// replaced by one for each UTC day, channel, agent and campaign, so sums of whole days do not change. Entries of that
	// age can no longer be recorded.
	RetentionLedger RetentionKind = "Ledger"
)

// AllRetentionKinds are all kinds of data.
var AllRetentionKinds = []RetentionKind{RetentionChats, RetentionExecutions, RetentionCampaignItems,
	RetentionTombstones, RetentionLedger}

// Retention is how long a company keeps data of a kind.
type Retention struct {
	bun.BaseModel `bun:"table:retentions,alias:retention"`
	Owned

	Kind RetentionKind `bun:",pk"`
	Days int32
}

// MaxRetentionDays is a little more than a hundred years.
const MaxRetentionDays = 40_000

// SetRetentionInput sets the number of days for which data of a kind is kept. 0 means no limit.
type SetRetentionInput struct {
	Kind RetentionKind
	Days int32
}

// NewRetention returns the retention that the input describes. It returns BAD_INPUT for an unknown kind, and for days
// outside 0 to 40,000.
func NewRetention(in SetRetentionInput) (*Retention, error) {
	var faults Fields
	if !slices.Contains(AllRetentionKinds, in.Kind) {
		faults.Add("kind", "must be one of %v", AllRetentionKinds)
	}
	if in.Days < 0 || in.Days > MaxRetentionDays {
		faults.Add("days", "must be between 0 and %d", MaxRetentionDays)
	}
	return &Retention{Kind: in.Kind, Days: in.Days}, faults.Err()
}
