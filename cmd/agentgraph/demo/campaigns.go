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

// campaign is a campaign with an invented past.
type campaign struct {
	model.CreateCampaignInput
	Fields []model.AddCampaignFieldInput `json:"fields"`
	Status model.CampaignStatus          `json:"status"`
	// These are in days before now. EndedDaysAgo is 0 if the campaign is still running or never started.
	CreatedDaysAgo int `json:"createdDaysAgo"`
	BegunDaysAgo   int `json:"begunDaysAgo"`
	EndedDaysAgo   int `json:"endedDaysAgo"`
	// Contacts is the number of contacts at each stage.
	Contacts map[stage]int `json:"contacts"`
	// Numbers are patterns of phone numbers, in which # stands for a random digit. Each contact gets one number.
	Numbers []string `json:"numbers"`
	// Values are possible values of data bag fields. Said are possible values that only come up in conversations.
	Values map[string][]string `json:"values"`
	Said   map[string][]string `json:"said"`
	// Outcomes are possible conversations, and Failures are technical reasons for failed attempts.
	Outcomes []outcome `json:"outcomes"`
	Failures []string  `json:"failures"`
}

// stage is the progress of a contact.
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

// outcome is a conversation after the welcome message, and its result. The texts contain placeholders.
type outcome struct {
	Tag string `json:"tag"`
	// Weight is its frequency relative to the other outcomes.
	Weight    int               `json:"weight"`
	Summary   string            `json:"summary"`
	Metadata  map[string]string `json:"metadata"`
	EndReason string            `json:"endReason"`
	Messages  []line            `json:"messages"`
}

// line is a message of the agent or of the contact.
type line struct {
	Assistant string  `json:"assistant"`
	User      string  `json:"user"`
	Intent    *string `json:"intent"`
}

func (c campaign) inventHistory(agent *model.Agent, random *rand.Rand, now time.Time) (*dialer, error) {
	created := ago(now, c.CreatedDaysAgo)
	in := c.CreateCampaignInput
	in.AgentID = agent.ID
	started, err := model.NewCampaign(in, created)
	if err != nil {
		return nil, err
	}
	for _, field := range c.Fields {
		if _, err := started.AddField(field, agent, created.Add(time.Minute)); err != nil {
			return nil, err
		}
	}
	d := &dialer{content: c, agent: agent, campaign: started, random: random, now: now, started: ago(now, c.BegunDaysAgo),
		ended: now}
	if c.EndedDaysAgo > 0 {
		d.ended = ago(now, c.EndedDaysAgo)
	}
	if err := d.addItems(created.Add(5 * time.Minute)); err != nil {
		return nil, err
	}
	for i, stage := range d.stages() {
		if err := d.inventPast(i, stage); err != nil {
			return nil, fmt.Errorf("contact %d, %s: %w", i, stage, err)
		}
	}
	d.number()
	return d, d.become(c.Status)
}

// ago returns the first calling hour of a day in the past.
func ago(now time.Time, days int) time.Time {
	return now.Truncate(24*time.Hour).AddDate(0, 0, -days).Add(firstHour * time.Hour)
}

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
			if values[name] = fill(value, nil, d.started); value == "" {
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

// draw picks a random choice for each name. It visits names in a fixed order, so that results are reproducible.
func (d *dialer) draw(choices map[string][]string) map[string]string {
	drawn := make(map[string]string, len(choices))
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		drawn[name] = pick(d.random, choices[name])
	}
	return drawn
}

// stages returns the stage of each contact in random order.
func (d *dialer) stages() []stage {
	var all []stage
	for _, one := range stages {
		all = append(all, slices.Repeat([]stage{one}, d.content.Contacts[one])...)
	}
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// number sets the items' versions in the order of their last changes.
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

func (d *dialer) become(status model.CampaignStatus) error {
	if status == model.CampaignStatusDraft {
		return nil
	}
	running := model.CampaignStatusRunning
	if err := d.campaign.Update(model.UpdateCampaignInput{Status: &running}, d.started); err != nil || status == running {
		return err
	}
	return d.campaign.Update(model.UpdateCampaignInput{Status: &status}, d.ended)
}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

var marker = regexp.MustCompile(`\{(\w+|\+\d+d)\}`)

// fill replaces the placeholders of a text. Unknown ones stay unchanged.
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
