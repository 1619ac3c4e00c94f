package demo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// campaign is a campaign that began some time ago.
type campaign struct {
	model.CreateCampaignInput
	Fields []model.AddCampaignFieldInput `json:"fields"`
	Status model.CampaignStatus          `json:"status"`
	// The days since it was created, started and ended. EndedDaysAgo is 0 if it still runs or never ran.
	CreatedDaysAgo int `json:"createdDaysAgo"`
	BegunDaysAgo   int `json:"begunDaysAgo"`
	EndedDaysAgo   int `json:"endedDaysAgo"`
	// Contacts is the number of contacts at each stage.
	Contacts map[stage]int `json:"contacts"`
	// Numbers are patterns of phone numbers, in which # is any digit. Each contact gets one number.
	Numbers []string `json:"numbers"`
	// Values are possible values of fields of the data bag, Said those of fields that only come up in conversation.
	Values map[string][]string `json:"values"`
	Said   map[string][]string `json:"said"`
	// Outcomes are possible conversations, Failures the technical reasons for failed attempts.
	Outcomes []outcome `json:"outcomes"`
	Failures []string  `json:"failures"`
}

// stage is how far a contact has come.
type stage string

const (
	waiting    stage = "waiting"    // for its first attempt
	retrying   stage = "retrying"   // waiting for another attempt
	calling    stage = "calling"    // in a call
	evaluating stage = "evaluating" // the call is over
	finished   stage = "finished"   // after a conversation
	unanswered stage = "unanswered" // after its last attempt
	failed     stage = "failed"     // after a technical failure
)

var stages = []stage{waiting, retrying, calling, evaluating, finished, unanswered, failed}

// outcome is a conversation after the welcome message, and its result. Its texts have placeholders.
type outcome struct {
	Tag string `json:"tag"`
	// Weight is its frequency relative to the other outcomes.
	Weight    int               `json:"weight"`
	Summary   string            `json:"summary"`
	Metadata  map[string]string `json:"metadata"`
	EndReason string            `json:"endReason"`
	Messages  []line            `json:"messages"`
}

// line is what one of the two says.
type line struct {
	Assistant string  `json:"assistant"`
	User      string  `json:"user"`
	Intent    *string `json:"intent"`
}

// dial makes up the campaign's past.
func (c campaign) dial(agent *model.Agent, random *rand.Rand, now time.Time) (*dialer, error) {
	created := ago(now, c.CreatedDaysAgo)
	in := c.CreateCampaignInput
	in.AgentID = agent.ID
	begun, err := model.NewCampaign(in, created)
	if err != nil {
		return nil, err
	}
	for _, field := range c.Fields {
		if _, err := begun.AddField(field, agent, created.Add(time.Minute)); err != nil {
			return nil, err
		}
	}
	d := &dialer{content: c, agent: agent, campaign: begun, random: random, now: now, begun: ago(now, c.BegunDaysAgo),
		ended: now}
	if c.EndedDaysAgo > 0 {
		d.ended = ago(now, c.EndedDaysAgo)
	}
	if err := d.addItems(created.Add(5 * time.Minute)); err != nil {
		return nil, err
	}
	for i, stage := range d.stages() {
		if err := d.bring(i, stage); err != nil {
			return nil, fmt.Errorf("contact %d, %s: %w", i, stage, err)
		}
	}
	d.number()
	return d, d.become(c.Status)
}

// ago returns the first calling hour of the day a number of days before.
func ago(now time.Time, days int) time.Time {
	return now.Truncate(24*time.Hour).AddDate(0, 0, -days).Add(firstHour * time.Hour)
}

// addItems adds the contacts.
func (d *dialer) addItems(at time.Time) error {
	total := 0
	for _, count := range d.content.Contacts {
		total += count
	}
	in := model.AddCampaignItemsInput{}
	taken := map[string]bool{}
	for len(in.Items) < total {
		number := d.phoneNumber()
		if taken[number] {
			continue
		}
		taken[number] = true
		values := d.draw(d.content.Values)
		for name, value := range values {
			if values[name] = fill(value, nil, d.begun); value == "" {
				delete(values, name)
			}
		}
		bag, err := model.ObjectOf(values)
		if err != nil {
			return err
		}
		in.Items = append(in.Items, &model.CampaignItemInput{PhoneNumber: number, DataBag: bag})
		d.values = append(d.values, values)
	}
	var err error
	d.items, err = d.campaign.NewItems(in, d.agent, at)
	return err
}

func (d *dialer) phoneNumber() string {
	number := []byte(pick(d.random, d.content.Numbers))
	for i, c := range number {
		if c == '#' {
			number[i] = byte('0' + d.random.IntN(10))
		}
	}
	return string(number)
}

// draw picks one of the choices for each name, in a fixed order.
func (d *dialer) draw(choices map[string][]string) map[string]string {
	drawn := make(map[string]string, len(choices))
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		drawn[name] = pick(d.random, choices[name])
	}
	return drawn
}

// stages returns the stage of each contact, shuffled.
func (d *dialer) stages() []stage {
	var all []stage
	for _, one := range stages {
		all = append(all, slices.Repeat([]stage{one}, d.content.Contacts[one])...)
	}
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// number numbers the items' versions in the order of their last changes.
func (d *dialer) number() {
	last := make(map[string]time.Time, len(d.items))
	for _, event := range d.events {
		last[event.ItemID] = event.Date
	}
	inOrder := slices.SortedStableFunc(slices.Values(d.items), func(a, b *model.CampaignItem) int {
		return last[a.ID].Compare(last[b.ID])
	})
	for i, item := range inOrder {
		item.Version = int32(i) + 1
	}
	d.campaign.ItemVersion = int32(len(inOrder))
}

// become moves the campaign to its state.
func (d *dialer) become(status model.CampaignStatus) error {
	if status == model.CampaignStatusDraft {
		return nil
	}
	running := model.CampaignStatusRunning
	if err := d.campaign.Update(model.UpdateCampaignInput{Status: &running}, d.begun); err != nil || status == running {
		return err
	}
	return d.campaign.Update(model.UpdateCampaignInput{Status: &status}, d.ended)
}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

var marker = regexp.MustCompile(`\{(\w+|\+\d+d)\}`)

// fill replaces the placeholders of a text. Unknown ones stay as they are.
func fill(text string, values map[string]string, day time.Time) string {
	return marker.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "{}")
		var days int
		if _, err := fmt.Sscanf(name, "+%dd", &days); err == nil {
			return day.AddDate(0, 0, days).Format(time.DateOnly)
		}
		if value, known := values[name]; known {
			return value
		}
		return found
	})
}
