package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// startTimes are times at which a demo may start.
var startTimes = []time.Time{
	time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC),
	time.Date(2026, 8, 15, 16, 59, 59, 999_999_000, time.UTC),
	time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC),
}

// dialed generates the campaigns of the demo company as of the given time.
func dialed(t *testing.T, now time.Time) []*dialer {
	t.Helper()
	c := mustRead(t, "merrowby")
	agents := map[string]*model.Agent{}
	for _, a := range c.Agents {
		agent, err := model.NewAgent(a.CreateAgentInput, now)
		require.NoError(t, err)
		agents[a.Key] = agent
	}
	random := chance()
	var all []*dialer
	for _, campaign := range c.Campaigns {
		d, err := campaign.inventHistory(agents[campaign.AgentID], random, now)
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

func TestCampaignsFitTheirAgents(t *testing.T) {
	t.Parallel()
	c := mustRead(t, "merrowby")
	contacts := 0
	keysOf(t, c.Campaigns, func(c campaign) string { return c.Name })
	keysOf(t, c.Campaigns, func(c campaign) string { return c.Status.String() })
	for _, campaign := range c.Campaigns {
		at := slices.IndexFunc(c.Agents, func(a agent) bool { return a.Key == campaign.AgentID })
		require.GreaterOrEqual(t, at, 0, campaign.Name)
		caller := c.Agents[at]
		require.Equal(t, model.DirectionOutbound, caller.Direction, campaign.Name)
		require.Greater(t, campaign.MaxAttempts, int32(1), campaign.Name)
		for stage, count := range campaign.Contacts {
			require.Contains(t, stages, stage, campaign.Name)
			require.Positive(t, count)
			contacts += count
		}
		var fields []string
		for _, field := range caller.Fields {
			if !field.IsSystem {
				fields = append(fields, field.Name)
			}
		}
		require.NotEmpty(t, campaign.Fields, campaign.Name)
		for _, field := range campaign.Fields {
			require.NotNil(t, field.Description)
			fields = append(fields, field.Name)
		}
		for name := range campaign.Values {
			require.Contains(t, fields, name, campaign.Name)
		}
		for _, o := range campaign.Outcomes {
			require.Positive(t, o.Weight)
			require.True(t, slices.ContainsFunc(caller.ClassificationTags,
				func(tag *model.ClassificationTag) bool { return tag.Name == o.Tag }), o.Tag)
			for name := range o.Metadata {
				require.True(t, slices.ContainsFunc(caller.ExtractedValues,
					func(v *model.ExtractedValue) bool { return v.Name == name }), name)
			}
			for _, l := range o.Messages {
				require.NotEqual(t, l.User == "", l.Assistant == "", "either the user or the assistant speaks")
			}
		}
	}
	require.Equal(t, 400, contacts)
	require.Len(t, c.Campaigns, 4)
}

func TestEveryItemHasACoherentHistory(t *testing.T) {
	t.Parallel()
	for _, now := range startTimes {
		t.Run(now.Format(time.DateOnly), func(t *testing.T) {
			t.Parallel()
			for _, d := range dialed(t, now) {
				require.Equal(t, d.content.Status, d.campaign.Status)
				require.False(t, d.campaign.UpdatedAt.After(now))
				byItem := map[string][]*model.CampaignItemEvent{}
				for _, event := range d.events {
					byItem[event.ItemID] = append(byItem[event.ItemID], event)
				}
				versions := map[int32]bool{}
				for _, item := range d.items {
					requireCoherent(t, d, item, byItem[item.ID])
					versions[item.Version] = true
				}
				require.Len(t, versions, len(d.items))
			}
		})
	}
}

// requireCoherent requires that an item agrees with its events.
func requireCoherent(t *testing.T, d *dialer, item *model.CampaignItem, events []*model.CampaignItemEvent) {
	t.Helper()
	require.EqualValues(t, len(events), item.EventCount)
	var launches int32
	var kinds string
	var last, lastLaunch time.Time
	for n, event := range events {
		require.EqualValues(t, n+1, event.Number)
		require.False(t, event.Date.Before(last))
		require.False(t, event.Date.Before(d.started))
		require.False(t, event.Date.After(d.ended), "%s ends at %s: %s", d.campaign.Name, d.ended, event.Date)
		last = event.Date
		kinds += event.Type.String() + " "
		switch event.Type {
		case model.CampaignItemEventTypeLaunchCall:
			launches++
			lastLaunch = event.Date
			if d.now.Sub(event.Date) > 24*time.Hour {
				require.GreaterOrEqual(t, event.Date.Hour(), firstHour)
				require.Less(t, event.Date.Hour(), lastHour)
			}
		case model.CampaignItemEventTypeResetCall:
			launches = 0
		}
	}
	require.Equal(t, launches, item.AttemptCount)
	require.LessOrEqual(t, item.AttemptCount, d.campaign.MaxAttempts)
	require.Equal(t, lastLaunch.IsZero(), item.LastCallDate == nil)
	require.True(t, lastLaunch.IsZero() || item.LastCallDate.Equal(lastLaunch))
	require.False(t, item.CreatedAt.Before(d.campaign.CreatedAt))
	require.Equal(t, item.RunningStatus == model.CampaignItemStatusError, item.Error != nil)
	require.Equal(t, item.RunningStatus == model.CampaignItemStatusProcessed, item.Result != nil)

	switch item.RunningStatus {
	case model.CampaignItemStatusPending:
		require.Equal(t, item.AttemptCount > 0, item.NextTryDate != nil)
		if item.NextTryDate != nil {
			require.True(t, strings.HasSuffix(kinds, "LaunchCall EndCall "), kinds)
			require.Equal(t, time.Duration(d.campaign.RetryDelayMinutes)*time.Minute, item.NextTryDate.Sub(last))
		}
	case model.CampaignItemStatusCalling:
		require.True(t, item.IsPickedUp)
		require.True(t, strings.HasSuffix(kinds, "LaunchCall PickUp "), kinds)
	case model.CampaignItemStatusProcessingResult:
		require.True(t, strings.HasSuffix(kinds, "LaunchCall PickUp EndCall "), kinds)
	case model.CampaignItemStatusError:
		require.True(t, strings.HasSuffix(kinds, "LaunchCall EndCall "), kinds)
	case model.CampaignItemStatusProcessed:
		require.True(t, strings.HasSuffix(kinds, " EndCall "), kinds)
		require.False(t, item.ProcessedAt.Before(last))
		require.False(t, item.ProcessedAt.After(d.ended))
		requireFit(t, d, item)
	}
}

// requireFit requires that an item's result fits its agent.
func requireFit(t *testing.T, d *dialer, item *model.CampaignItem) {
	t.Helper()
	result := item.Result
	tag := slices.IndexFunc(d.agent.ClassificationTags,
		func(tag model.ClassificationTag) bool { return tag.Name == result.Tag.Name })
	require.GreaterOrEqual(t, tag, 0, result.Tag.Name)
	require.Equal(t, d.agent.ClassificationTags[tag].IsSystem, result.IsSystem, result.Tag.Name)
	if result.Conversation == nil {
		require.Equal(t, "No answer", result.Tag.Name)
		require.Equal(t, d.campaign.MaxAttempts, item.AttemptCount)
		return
	}
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.NotRegexp(t, marker, string(text), "a placeholder has no value")
	messages := result.Conversation.Messages
	require.GreaterOrEqual(t, len(messages), 3)
	require.Equal(t, model.MessageRoleAssistant, messages[0].Role, "the agent greets")
	last := *item.LastCallDate
	for _, message := range messages {
		require.False(t, message.Timestamp.Before(last.Truncate(time.Millisecond)))
		last = message.Timestamp
	}
	require.False(t, item.ProcessedAt.Before(last))
}

func TestCampaignHistoryIsDeterministic(t *testing.T) {
	t.Parallel()
	tell := func(d *dialer) (lines []string) {
		for _, item := range d.items {
			text, err := json.Marshal([]any{item.PhoneNumber, item.DataBag, item.Result, item.LastCallDate, item.NextTryDate,
				item.Version})
			require.NoError(t, err)
			lines = append(lines, string(text))
		}
		return lines
	}
	first, second := dialed(t, startTimes[0]), dialed(t, startTimes[0])
	for i := range first {
		require.Empty(t, cmp.Diff(tell(first[i]), tell(second[i])))
	}
}

func TestUsageVariesByMonth(t *testing.T) {
	t.Parallel()
	c := mustRead(t, "merrowby")
	agents := map[string]*model.Agent{}
	for _, a := range append(slices.Clone(c.Agents), c.DeletedAgents...) {
		agents[a.Key] = &model.Agent{ID: a.Key, Channel: a.Channel}
	}
	for _, now := range startTimes {
		entries, err := usage(c.Usage, agents, chance(), now)
		require.NoError(t, err)
		between(t, len(entries), 3_000, 6_000, now.String())
		months := map[string]bool{}
		// sum has the credits of each agent in each month, and days has the number of entries. Both omit weekends.
		type month struct {
			agent string
			month time.Month
		}
		sum, days := map[month]float64{}, map[month]float64{}
		for _, entry := range entries {
			require.False(t, entry.At.After(now))
			require.Positive(t, entry.Credits)
			months[entry.At.Format("2006-01")] = true
			if weekday := entry.At.Weekday(); weekday != time.Saturday && weekday != time.Sunday {
				sum[month{entry.AgentID, entry.At.Month()}] += float64(entry.Credits)
				days[month{entry.AgentID, entry.At.Month()}]++
			}
		}
		between(t, len(months), usageMonths-1, usageMonths, now.String())
		average := func(agent string, m time.Month) float64 { return sum[month{agent, m}] / days[month{agent, m}] }
		require.Greater(t, average("delivery_sms", time.December), 1.3*average("delivery_sms", time.August))
		require.Greater(t, average("fitness_leads", time.January), 1.3*average("fitness_leads", time.July))
		require.Greater(t, average("airline_rebooking", time.August), 1.1*average("airline_rebooking", time.November))
	}
	_, err := usage([]agentUsage{{AgentID: "nobody"}}, agents, chance(), startTimes[0])
	require.ErrorContains(t, err, `"nobody"`)
}
