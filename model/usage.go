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

// Limits of one request and of its entries.
const (
	MaxUsageEntries = 1_000
	MaxUsageKey     = 200
	// MaxEntryCredits is the maximum amount of one entry, positive or negative.
	MaxEntryCredits = 1_000_000 * Credit
)

// OwnUsageKeys is the prefix of idempotency keys that the program itself creates.
const OwnUsageKeys = "agentgraph:"

// dayKeys is the prefix of the keys of entries that replace all entries of a day.
const dayKeys = OwnUsageKeys + "day:"

// DayKeys is the LIKE pattern of keys with that prefix.
const DayKeys = dayKeys + "%"

// UsageEntry is an entry of the usage ledger: used credits. Entries never change; a negative entry corrects a mistake.
// Entries older than the ledger's retention are replaced by one for each day, channel, agent and campaign.
type UsageEntry struct {
	bun.BaseModel `bun:"table:usage_entries,alias:usage_entry"`
	Owned

	IdempotencyKey string `bun:",pk"`
	Channel        Channel
	AgentID        string
	// CampaignID is "" for usage that belongs to no campaign.
	CampaignID string
	Credits    Credits `bun:"micro_credits"`
	// At has millisecond precision.
	At time.Time
}

// Same reports whether two entries are equal except for their owners.
func (e *UsageEntry) Same(other *UsageEntry) bool {
	return e.IdempotencyKey == other.IdempotencyKey && e.Channel == other.Channel && e.AgentID == other.AgentID &&
		e.CampaignID == other.CampaignID && e.Credits == other.Credits && e.At.Equal(other.At)
}

// IsCorrection reports whether the entry corrects an earlier one.
func (e *UsageEntry) IsCorrection() bool { return e.Credits < 0 }

// UsageDay is the sum of the entries of one UTC day, channel, agent and campaign.
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

// Entry returns the entry that replaces all entries of the day.
func (d *UsageDay) Entry() *UsageEntry {
	day := d.Day.UTC().Truncate(24 * time.Hour)
	digest := sha256.Sum256([]byte(d.AgentID + "\x00" + d.CampaignID))
	return &UsageEntry{
		IdempotencyKey: fmt.Sprintf("%s%s:%s:%x", dayKeys, day.Format(time.DateOnly), d.Channel, digest[:16]),
		Channel:        d.Channel, AgentID: d.AgentID, CampaignID: d.CampaignID, Credits: d.Credits, At: day,
	}
}

// UsageMonth is the sum of the entries of one UTC month, channel, agent and campaign.
type UsageMonth struct {
	bun.BaseModel `bun:"table:usage_months,alias:usage_month"`
	Owned

	// Month is the first day of the month.
	Month      time.Time `bun:",pk,type:date"`
	Channel    Channel   `bun:",pk"`
	AgentID    string    `bun:",pk"`
	CampaignID string    `bun:",pk"`
	Credits    Credits   `bun:"micro_credits"`
	Entries    int64
}

// SumUsage sums entries by day and by month, each sorted by key.
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

// Rows returns the entries for the ledger, each key once, and the number of entries that repeat another one. It returns
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
			faults.Add(path+"idempotencyKey", "is also the id of another entry in the request, with different data")
		}
	}
	return rows, repeated, faults.Err()
}

// KeptFrom returns UNPROCESSABLE if entries are older than the start of the ledger. The ledger merged its entries of
// that time, so it no longer shows whether the new entries were already recorded.
func (in RecordUsageInput) KeptFrom(begin time.Time) error {
	var faults Fields
	for i, entry := range in.Entries {
		if entry.At.Before(begin) {
			faults.Add(fmt.Sprintf("entries.%d.at", i), "must not be before %s: only the daily sums of older entries are "+
				"stored",
				begin.Format(time.DateOnly))
		}
	}
	return faults.As(Unprocessable)
}

// CheckCorrections returns UNPROCESSABLE if the rows of the input would make the credits of a month negative. recorded
// has the other credits of each month with a correction.
func (in RecordUsageInput) CheckCorrections(rows []*UsageEntry, recorded map[time.Time]Credits) error {
	for _, row := range rows {
		if sum, isCorrected := recorded[MonthOf(row.At)]; isCorrected {
			recorded[MonthOf(row.At)] = sum + row.Credits
		}
	}
	var faults Fields
	for i, entry := range in.Entries {
		if month := MonthOf(entry.At); entry.Credits < 0 && recorded[month] < 0 { // 0 for months without a budget
			faults.Add(fmt.Sprintf("entries.%d.credits", i), "would make the usage recorded in %s negative: a correction has "+
				"the month of the entry that it corrects, and at most its credits", MonthName(month))
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

// Prices are the prices of simulated conversations.
type Prices struct {
	// Message is the price of a message that an agent writes.
	Message Credits
	// InputTokens and OutputTokens are the prices of a thousand tokens that language models read and write.
	InputTokens, OutputTokens Credits
	// CachedTokens is the price of a thousand input tokens that the provider had cached. Nil means InputTokens.
	CachedTokens *Credits
}

// Of returns the price of the messages and tokens. The input tokens include the cached ones. The price is rounded once
// to the nearest micro-credit, and is at most MaxEntryCredits.
func (p Prices) Of(messages, inputTokens, cachedTokens, outputTokens int64) Credits {
	const perThousand = 1_000
	// In thousandths of a micro-credit. The sum may exceed 64 bits.
	total := big.NewInt(perThousand / 2)
	add := func(price Credits, thousandths, count int64) {
		part := big.NewInt(int64(price))
		part.Mul(part, big.NewInt(thousandths))
		total.Add(total, part.Mul(part, big.NewInt(max(count, 0))))
	}
	add(p.Message, perThousand, messages)
	cached := p.InputTokens
	if p.CachedTokens != nil {
		cached = *p.CachedTokens
	}
	add(p.InputTokens, 1, inputTokens-cachedTokens)
	add(cached, 1, cachedTokens)
	add(p.OutputTokens, 1, outputTokens)
	total.Quo(total, big.NewInt(perThousand))
	if most := MaxEntryCredits; total.Cmp(big.NewInt(int64(most))) > 0 {
		return most
	}
	return Credits(total.Int64())
}
