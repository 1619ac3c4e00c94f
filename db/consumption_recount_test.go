package db_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

// recount adds up a ledger in the simplest way. All names are unknown.
func recount(ledger []*model.UsageEntryInput, from, to model.DateBound) *model.ConsumptionBreakdown {
	first, last := from.At, to.At
	if to.IsDay {
		last = last.AddDate(0, 0, 1).Add(-time.Millisecond)
	}
	b := &model.ConsumptionBreakdown{PeriodFrom: first, PeriodTo: last, ByAgent: []*model.AgentConsumption{}}
	channels := func() (all []*model.ChannelConsumption) {
		for _, channel := range []model.Channel{"Phone", "SMS", "Web", "WhatsApp"} {
			all = append(all, &model.ChannelConsumption{Channel: channel})
		}
		return all
	}
	b.ByChannel = channels()
	for year := first.Year(); year <= last.Year(); year++ {
		for month := 1; month <= 12; month++ {
			name := fmt.Sprintf("%04d-%02d", year, month)
			if name >= first.Format("2006-01") && name <= last.Format("2006-01") {
				b.ByMonth = append(b.ByMonth, &model.MonthConsumption{Month: name, ByChannel: channels()})
			}
		}
	}
	for at := first; at.Format(time.DateOnly) <= last.Format(time.DateOnly); at = at.AddDate(0, 0, 1) {
		b.ByDay = append(b.ByDay, &model.DayConsumption{Day: at.Format(time.DateOnly), ByChannel: channels()})
	}
	for _, e := range ledger {
		if e.At.Before(first) || e.At.After(last) {
			continue
		}
		b.TotalCredits += e.Credits
		onChannel := func(channels []*model.ChannelConsumption) {
			for _, c := range channels {
				if c.Channel == e.Channel {
					c.Credits += e.Credits
				}
			}
		}
		onChannel(b.ByChannel)
		for _, m := range b.ByMonth {
			if m.Month == e.At.UTC().Format("2006-01") {
				m.Credits += e.Credits
				onChannel(m.ByChannel)
			}
		}
		for _, d := range b.ByDay {
			if d.Day == e.At.UTC().Format(time.DateOnly) {
				d.Credits += e.Credits
				onChannel(d.ByChannel)
			}
		}
		count(b, e)
	}
	byCredits := func(a, b model.Credits, x, y string) int { return cmp.Or(cmp.Compare(b, a), cmp.Compare(x, y)) }
	slices.SortFunc(b.ByAgent, func(x, y *model.AgentConsumption) int {
		return byCredits(x.Credits, y.Credits, x.AgentID,
			y.AgentID)
	})
	for _, a := range b.ByAgent {
		slices.SortFunc(a.Campaigns, func(x, y *model.CampaignConsumption) int {
			return byCredits(x.Credits, y.Credits, x.CampaignID, y.CampaignID)
		})
	}
	return b
}

func count(b *model.ConsumptionBreakdown, e *model.UsageEntryInput) {
	at := slices.IndexFunc(b.ByAgent, func(a *model.AgentConsumption) bool { return a.AgentID == e.AgentID })
	if at < 0 {
		at = len(b.ByAgent)
		b.ByAgent = append(b.ByAgent, &model.AgentConsumption{
			AgentID: e.AgentID, NameStatus: model.NameStatusUnknown, Campaigns: []*model.CampaignConsumption{},
		})
	}
	agent := b.ByAgent[at]
	agent.Credits += e.Credits
	if e.CampaignID == nil {
		return
	}
	in := slices.IndexFunc(agent.Campaigns,
		func(c *model.CampaignConsumption) bool { return c.CampaignID == *e.CampaignID })
	if in < 0 {
		in = len(agent.Campaigns)
		agent.Campaigns = append(agent.Campaigns, &model.CampaignConsumption{CampaignID: *e.CampaignID,
			NameStatus: model.NameStatusUnknown})
	}
	agent.Campaigns[in].Credits += e.Credits
}

// withoutBatches clears the batches of the rows, and returns the breakdown.
func withoutBatches(b *model.ConsumptionBreakdown) *model.ConsumptionBreakdown {
	for _, a := range b.ByAgent {
		a.Owned = model.Owned{}
		for _, c := range a.Campaigns {
			c.Owned = model.Owned{}
		}
	}
	return b
}

// moments generates times, many of them at the ends of days, months and years.
func moments() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		days := rapid.OneOf(rapid.IntRange(0, 730), rapid.SampledFrom([]int{0, 30, 31, 59, 60, 364, 365, 366})).Draw(t, "day")
		offset := rapid.OneOf(
			rapid.SampledFrom([]time.Duration{0, time.Millisecond, 24*time.Hour - time.Millisecond, 12 * time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.IntRange(0, 24*60*60*1000-1).Draw(t, "ms")) * time.Millisecond
			}),
		).Draw(t, "offset")
		return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days).Add(offset)
	})
}

func entries() *rapid.Generator[*model.UsageEntryInput] {
	campaigns := rapid.SampledFrom([]string{"", "", "campaign_1", "campaign_2", "campaign_3"})
	return rapid.Custom(func(t *rapid.T) *model.UsageEntryInput {
		e := &model.UsageEntryInput{
			AgentID: rapid.SampledFrom([]string{"agent_1", "agent_2", "agent_3"}).Draw(t, "agent"),
			Channel: rapid.SampledFrom(model.AllChannel).Draw(t, "channel"),
			Credits: model.Credits(rapid.OneOf(
				rapid.Int64Range(-int64(model.MaxEntryCredits), int64(model.MaxEntryCredits)), rapid.Int64Range(-3, 3),
			).Draw(t, "credits")),
			At: moments().Draw(t, "at"),
		}
		if campaign := campaigns.Draw(t, "campaign"); campaign != "" {
			e.CampaignID = &campaign
		}
		return e
	})
}

// ranges generates valid ranges of at most 366 days, with both forms of bounds.
func ranges() *rapid.Generator[[2]model.DateBound] {
	return rapid.Custom(func(t *rapid.T) [2]model.DateBound {
		one := func(name string) model.DateBound {
			b := model.DateBound{At: moments().Draw(t, name), IsDay: rapid.Bool().Draw(t, name+" is a day")}
			if b.IsDay {
				b.At = b.At.Truncate(24 * time.Hour)
			}
			return b
		}
		return [2]model.DateBound{one("from"), one("to")}
	}).Filter(func(r [2]model.DateBound) bool {
		_, err := model.NewConsumptionRange(r[0], r[1])
		return err == nil
	})
}

const (
	rangesPerLedger = 10
	ledgers         = 100 // as many as rapid checks by default
)
