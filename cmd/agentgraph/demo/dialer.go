package demo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// dialer invents the reports of a dialer on a campaign's items. Every step goes through package model, so that only
// reachable states occur.
type dialer struct {
	content  campaign
	agent    *model.Agent
	campaign *model.Campaign
	random   *rand.Rand
	// All events are between these times, except calls that started earlier.
	now, started, ended time.Time

	items []*model.CampaignItem
	// values are the data bags of the items.
	values  []map[string]string
	events  []*model.CampaignItemEvent
	entries []*model.UsageEntryInput
}

// Calling hours.
const (
	firstHour = 9
	lastHour  = 17
)

const (
	// settling is how long before the end of a campaign the last attempts start.
	settling = 6 * time.Hour
	// spread is how long after its due time an attempt may start, within the calling hours.
	spread = 5 * time.Hour
)

// pace has the durations for a channel, as a minimum and a maximum.
type pace struct {
	answer, message [2]time.Duration
	// missed is how long an unanswered attempt lasts.
	missed time.Duration
}

var paces = map[model.Channel]pace{
	model.ChannelPhone: {
		answer: [2]time.Duration{6 * time.Second, 22 * time.Second}, message: [2]time.Duration{3 * time.Second,
			12 * time.Second},
		missed: 40 * time.Second,
	},
	model.ChannelSms: {
		answer: [2]time.Duration{time.Minute, 40 * time.Minute}, message: [2]time.Duration{30 * time.Second, 5 * time.Minute},
		missed: 4 * time.Hour,
	},
	model.ChannelWhatsApp: {
		answer: [2]time.Duration{time.Minute, 60 * time.Minute}, message: [2]time.Duration{20 * time.Second, 4 * time.Minute},
		missed: 4 * time.Hour,
	},
}

// Credits for an unanswered attempt, and for each message of a conversation.
const (
	missedCredits  = model.Credit / 20
	messageCredits = model.Credit * 12 / 100
)

func (d *dialer) pace() pace { return paces[d.agent.Channel] }

func (d *dialer) within(bounds [2]time.Duration) time.Duration {
	return span(d.random, bounds[0], bounds[1])
}

// inventPast invents the past of an item, up to the stage.
func (d *dialer) inventPast(n int, to stage) error {
	missed := d.missedBefore(to)
	isReset := d.content.Status != model.CampaignStatusDraft && (to == waiting || to == finished) && d.random.IntN(10) == 0
	times := d.times(to, missed, isReset)
	if isReset {
		if err := d.failAndReset(n, times[0]); err != nil {
			return err
		}
		times = times[1:]
	}
	for _, at := range times[:missed] {
		if err := d.reportMissed(n, at); err != nil {
			return err
		}
	}
	switch to {
	case calling, evaluating, finished:
		return d.reportAnswered(n, times[missed], to)
	case failed:
		return d.reportFailed(n, times[missed])
	}
	return nil
}

// missedBefore returns a random number of unanswered attempts.
func (d *dialer) missedBefore(to stage) int {
	most := int(d.campaign.MaxAttempts)
	switch to {
	case waiting:
		return 0
	case unanswered:
		return most
	case retrying:
		return 1 + d.random.IntN(most-1)
	}
	if d.random.IntN(3) > 0 {
		return 0
	}
	return d.random.IntN(most)
}

// times returns the start times of the attempts up to a stage. The attempt before a reset comes first, if there was
// one, then the unanswered attempts, then the decisive one.
func (d *dialer) times(to stage, missed int, isReset bool) []time.Time {
	count := missed
	if to != waiting && to != retrying && to != unanswered {
		count++
	}
	if isReset {
		count++
	}
	if count == 0 {
		return nil
	}
	times := make([]time.Time, count)
	times[count-1] = d.last(to, count)
	for i := count - 2; i >= 0; i-- {
		times[i] = inHours(times[i+1].Add(-d.apart() - span(d.random, 0, spread)))
	}
	return times
}

// apart is the minimum time between the starts of two attempts.
func (d *dialer) apart() time.Duration {
	return d.pace().missed + time.Duration(d.campaign.RetryDelayMinutes)*time.Minute
}

// last returns the start time of the last attempt.
func (d *dialer) last(to stage, count int) time.Time {
	switch {
	case to == calling:
		return d.now.Add(-span(d.random, 30*time.Second, 90*time.Second))
	case to == evaluating:
		return d.now.Add(-span(d.random, 4*time.Minute, 6*time.Minute))
	case to == retrying && d.content.Status == model.CampaignStatusRunning:
		// The next attempt of most of these items is in the future.
		return d.now.Add(-d.pace().missed - span(d.random, time.Minute, d.apart()))
	}
	// Each attempt takes at most this long, even if it is moved into the calling hours.
	earliest := d.started.Add(time.Duration(count) * (d.apart() + spread + 24*time.Hour))
	return inHours(earliest.Add(span(d.random, 0, d.ended.Add(-settling).Sub(earliest))))
}

// inHours returns the time itself if it is within the calling hours. Otherwise it returns a time up to a day earlier.
// Such times are spread over the hours, so that they do not all fall at the end of a day.
func inHours(at time.Time) time.Time {
	if hour := at.Hour(); firstHour <= hour && hour < lastHour {
		return at
	}
	hour := firstHour + at.Hour()%(lastHour-firstHour)
	moved := at.Add(time.Duration(hour-at.Hour()) * time.Hour)
	if moved.After(at) {
		moved = moved.AddDate(0, 0, -1)
	}
	return moved
}

func (d *dialer) report(n int, in model.AdvanceCampaignItemInput, at time.Time) error {
	item := d.items[n]
	in.CampaignID, in.ItemID = d.campaign.ID, item.ID
	if err := in.Validate(); err != nil {
		return err
	}
	events, err := item.Advance(in, d.campaign, d.agent.ClassificationTags, at.Truncate(time.Microsecond))
	d.events = append(d.events, events...)
	return err
}

func (d *dialer) launch(n int, at time.Time) error {
	return d.report(n, model.AdvanceCampaignItemInput{To: model.CampaignItemStatusCalling}, at)
}

func (d *dialer) reportMissed(n int, at time.Time) error {
	if err := d.launch(n, at); err != nil {
		return err
	}
	over := at.Add(d.pace().missed)
	d.charge(n, missedCredits, over)
	return d.report(n, model.AdvanceCampaignItemInput{To: model.CampaignItemStatusPending, Answered: new(false)}, over)
}

func (d *dialer) reportFailed(n int, at time.Time) error {
	if err := d.launch(n, at); err != nil {
		return err
	}
	over := at.Add(span(d.random, 2*time.Second, 9*time.Second))
	return d.report(n, model.AdvanceCampaignItemInput{To: model.CampaignItemStatusError,
		Reason: new(pick(d.random, d.content.Failures))}, over)
}

// failAndReset reports a technical failure, and resets the item later.
func (d *dialer) failAndReset(n int, at time.Time) error {
	if err := d.reportFailed(n, at); err != nil {
		return err
	}
	events, err := d.items[n].Reset(at.Add(span(d.random, 10*time.Minute, 90*time.Minute)).Truncate(time.Microsecond))
	d.events = append(d.events, events...)
	return err
}

func (d *dialer) reportAnswered(n int, at time.Time, to stage) error {
	if err := d.launch(n, at); err != nil {
		return err
	}
	answered := at.Add(d.within(d.pace().answer))
	if err := d.report(n, model.AdvanceCampaignItemInput{To: model.CampaignItemStatusCalling, Answered: new(true)},
		answered); err != nil || to == calling {
		return err
	}
	outcome := d.outcome()
	values := d.heard(n, at)
	conversation := d.conversation(outcome, values, answered)
	over := conversation.Messages[len(conversation.Messages)-1].Timestamp.Add(d.within(d.pace().message))
	d.charge(n, messageCredits*model.Credits(len(conversation.Messages)), over)
	end := model.AdvanceCampaignItemInput{To: model.CampaignItemStatusProcessingResult, Reason: new(outcome.EndReason)}
	if err := d.report(n, end, over); err != nil || to == evaluating {
		return err
	}
	filled := make(map[string]string, len(outcome.Metadata))
	for name, text := range outcome.Metadata {
		filled[name] = fill(text, values, at)
	}
	metadata, err := model.ObjectOf(filled)
	if err != nil {
		return err
	}
	result := &model.CampaignItemResultInput{
		Tag: &model.CampaignItemTagInput{Name: outcome.Tag}, Conversation: conversation,
		Summary: new(fill(outcome.Summary, values, at)), Metadata: metadata,
	}
	judged := over.Add(span(d.random, 3*time.Second, 25*time.Second))
	return d.report(n, model.AdvanceCampaignItemInput{To: model.CampaignItemStatusProcessed, Result: result}, judged)
}

func (d *dialer) outcome() outcome {
	var all []outcome
	for _, one := range d.content.Outcomes {
		all = append(all, slices.Repeat([]outcome{one}, one.Weight)...)
	}
	return pick(d.random, all)
}

// heard returns all values that the contact and the agent mention in the conversation.
func (d *dialer) heard(n int, at time.Time) map[string]string {
	values := d.draw(d.content.Said)
	maps.Copy(values, d.values[n])
	values["phoneNumber"], values["currentDate"] = d.items[n].PhoneNumber, at.Format(time.DateOnly)
	return values
}

// conversation returns the messages, beginning with the welcome message.
func (d *dialer) conversation(o outcome, values map[string]string, at time.Time) *model.CampaignItemConversationInput {
	c := &model.CampaignItemConversationInput{ID: fmt.Sprintf("conversation-%012x", d.random.Uint64N(1<<48))}
	say := func(role model.MessageRole, text string, intent *string) {
		c.Messages = append(c.Messages, &model.CampaignItemMessageInput{
			Timestamp: at.Truncate(time.Millisecond), Role: role, Text: fill(text, values, at), Intent: intent,
		})
		at = at.Add(d.within(d.pace().message))
	}
	if welcome := d.agent.WelcomeMessage(); welcome != nil {
		say(model.MessageRoleAssistant, *welcome, nil)
	}
	for _, l := range o.Messages {
		if l.User != "" {
			say(model.MessageRoleUser, l.User, l.Intent)
		} else {
			say(model.MessageRoleAssistant, l.Assistant, nil)
		}
	}
	return c
}

func (d *dialer) charge(n int, credits model.Credits, at time.Time) {
	item := d.items[n]
	d.entries = append(d.entries, &model.UsageEntryInput{
		IdempotencyKey: fmt.Sprintf("demo:attempt:%s:%d", item.ID, item.EventCount), AgentID: d.agent.ID,
		CampaignID: &d.campaign.ID,
		Channel:    d.agent.Channel, Credits: credits, At: at.Truncate(time.Millisecond),
	})
}
