package model

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of what is recorded at once.
const (
	MaxUsageEntries = 1_000
	MaxUsageKey     = 200
	// MaxEntryCredits bounds one entry, on both sides of zero.
	MaxEntryCredits = 1_000_000 * Credit
)

// OwnUsageKeys is the prefix of idempotency keys that the program itself makes.
const OwnUsageKeys = "agentgraph:"

// dayKeys is the prefix of keys of entries that stand for all of a day.
const dayKeys = OwnUsageKeys + "day:"

// DayKeys is the pattern of such keys, for LIKE.
const DayKeys = dayKeys + "%"

// UsageEntry is an entry of the ledger: credits that were used. Entries are never changed; what was recorded wrongly is
// taken back by an entry below zero. Those that are older than the ledger is kept are summed up by days.
type UsageEntry struct {
	bun.BaseModel `bun:"table:usage_entries,alias:usage_entry"`
	Owned

	IdempotencyKey string `bun:",pk"`
	Channel        Channel
	AgentID        string
	// CampaignID is "" for usage that belongs to no campaign.
	CampaignID string
	Credits    Credits `bun:"micro_credits"`
	// At is exact to the millisecond.
	At time.Time
}

// Same reports whether both entries say the same, apart from their owners.
func (e *UsageEntry) Same(other *UsageEntry) bool {
	return e.IdempotencyKey == other.IdempotencyKey && e.Channel == other.Channel && e.AgentID == other.AgentID &&
		e.CampaignID == other.CampaignID && e.Credits == other.Credits && e.At.Equal(other.At)
}

// UsageDay sums up the entries of one UTC day, channel, agent and campaign.
type UsageDay struct {
	bun.BaseModel `bun:"table:usage_days,alias:usage_day"`
	Owned

	Day        time.Time `bun:",pk,type:date"`
	Channel    Channel   `bun:",pk"`
	AgentID    string    `bun:",pk"`
	CampaignID string    `bun:",pk"`
	Credits    Credits   `bun:"micro_credits"`
	Entries    int64
}

// Entry is the entry that stands for all of the day's.
func (d *UsageDay) Entry() *UsageEntry {
	day := d.Day.UTC().Truncate(24 * time.Hour)
	of := sha256.Sum256([]byte(d.AgentID + "\x00" + d.CampaignID))
	return &UsageEntry{
		IdempotencyKey: fmt.Sprintf("%s%s:%s:%x", dayKeys, day.Format(time.DateOnly), d.Channel, of[:16]),
		Channel:        d.Channel, AgentID: d.AgentID, CampaignID: d.CampaignID, Credits: d.Credits, At: day,
	}
}

// UsageMonth sums up the entries of one UTC month, channel, agent and campaign.
type UsageMonth struct {
	bun.BaseModel `bun:"table:usage_months,alias:usage_month"`
	Owned

	// Month is its first day.
	Month      time.Time `bun:",pk,type:date"`
	Channel    Channel   `bun:",pk"`
	AgentID    string    `bun:",pk"`
	CampaignID string    `bun:",pk"`
	Credits    Credits   `bun:"micro_credits"`
	Entries    int64
}

// SumUsage sums up entries by day and by month, each in the order of its key.
func SumUsage(entries []*UsageEntry) ([]*UsageDay, []*UsageMonth) {
	days, months := map[UsageDay]*UsageDay{}, map[UsageMonth]*UsageMonth{}
	for _, e := range entries {
		at := e.At.UTC()
		day := UsageDay{Day: at.Truncate(24 * time.Hour), Channel: e.Channel, AgentID: e.AgentID, CampaignID: e.CampaignID}
		if days[day] == nil {
			days[day] = new(day)
		}
		days[day].Credits += e.Credits
		days[day].Entries++
		month := UsageMonth{Month: MonthOf(at), Channel: e.Channel, AgentID: e.AgentID, CampaignID: e.CampaignID}
		if months[month] == nil {
			months[month] = new(month)
		}
		months[month].Credits += e.Credits
		months[month].Entries++
	}
	return slices.SortedFunc(maps.Values(days), func(a, b *UsageDay) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.AgentID, b.AgentID),
				cmp.Compare(a.CampaignID, b.CampaignID))
		}), slices.SortedFunc(maps.Values(months), func(a, b *UsageMonth) int {
			return cmp.Or(a.Month.Compare(b.Month), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.AgentID, b.AgentID),
				cmp.Compare(a.CampaignID, b.CampaignID))
		})
}

// Rows returns the ledger's entries, each key once, and how many of the input only repeat another one; or
// BAD_INPUT with every fault.
func (in RecordUsageInput) Rows() ([]*UsageEntry, int, error) {
	var faults Fields
	if n := len(in.Entries); n < 1 || n > MaxUsageEntries {
		faults.Add("entries", "must have 1 to %d entries, not %d", MaxUsageEntries, n)
		return nil, 0, faults.Err()
	}
	rows := make([]*UsageEntry, 0, len(in.Entries))
	byKey := make(map[string]*UsageEntry, len(in.Entries))
	repeated := 0
	for i, entry := range in.Entries {
		path := fmt.Sprintf("entries.%d.", i)
		row := entry.row(path, &faults)
		switch first, seen := byKey[row.IdempotencyKey]; {
		case !seen:
			byKey[row.IdempotencyKey] = row
			rows = append(rows, row)
		case first.Same(row):
			repeated++
		default:
			faults.Add(path+"idempotencyKey", "is also the id of another entry of the request with different data")
		}
	}
	return rows, repeated, faults.Err()
}

// KeptFrom returns UNPROCESSABLE when entries are older than the start of the ledger, which no longer shows which of
// them it had.
func (in RecordUsageInput) KeptFrom(begin time.Time) error {
	var faults Fields
	for i, entry := range in.Entries {
		if entry.At.Before(begin) {
			faults.Add(fmt.Sprintf("entries.%d.at", i), "must not be before %s: older entries are kept as sums of days only",
				begin.Format(time.DateOnly))
		}
	}
	return faults.As(Unprocessable)
}

func (in *UsageEntryInput) row(path string, faults *Fields) *UsageEntry {
	faults.text(path+"idempotencyKey", in.IdempotencyKey, 1, MaxUsageKey)
	if strings.HasPrefix(in.IdempotencyKey, OwnUsageKeys) {
		faults.Add(path+"idempotencyKey", "must not begin with %q, which is reserved for simulations", OwnUsageKeys)
	}
	faults.text(path+"agentId", in.AgentID, 1, MaxIDLength)
	row := &UsageEntry{
		IdempotencyKey: in.IdempotencyKey, Channel: in.Channel, AgentID: in.AgentID, Credits: in.Credits,
		At: in.At.UTC().Truncate(time.Millisecond),
	}
	if in.CampaignID != nil {
		row.CampaignID = *in.CampaignID
		faults.text(path+"campaignId", row.CampaignID, 1, MaxIDLength)
	}
	if !in.Channel.IsValid() {
		faults.Add(path+"channel", "must be one of Phone, SMS, Web, WhatsApp")
	}
	if in.Credits < -MaxEntryCredits || in.Credits > MaxEntryCredits {
		faults.Add(path+"credits", "must be between -%v and %v", MaxEntryCredits, MaxEntryCredits)
	}
	return row
}

// Prices are what simulated conversations cost.
type Prices struct {
	// Message is the price of a message that an agent writes.
	Message Credits
	// InputTokens and OutputTokens are those of a thousand tokens that language models read and write.
	InputTokens, OutputTokens Credits
}

// Of returns the price of the given numbers of messages and tokens, rounded once to the nearest micro-credit, and at
// most what one entry may hold.
func (p Prices) Of(messages, inputTokens, outputTokens int64) Credits {
	const perThousand = 1_000
	// In thousandths of a micro-credit, of which there may be more than 64 bits hold.
	total := big.NewInt(perThousand / 2)
	add := func(price Credits, thousandths, count int64) {
		part := big.NewInt(int64(price))
		part.Mul(part, big.NewInt(thousandths))
		total.Add(total, part.Mul(part, big.NewInt(max(count, 0))))
	}
	add(p.Message, perThousand, messages)
	add(p.InputTokens, 1, inputTokens)
	add(p.OutputTokens, 1, outputTokens)
	total.Quo(total, big.NewInt(perThousand))
	if most := MaxEntryCredits; total.Cmp(big.NewInt(int64(most))) > 0 {
		return most
	}
	return Credits(total.Int64())
}
