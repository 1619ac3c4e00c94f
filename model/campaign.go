package model

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nyaruka/phonenumbers"
	"github.com/uptrace/bun"
)

// Bounds of a campaign.
const (
	maxAttempts   = 20
	maxRetryDelay = 30 * 24 * 60
	maxOwnFields  = 100
)

// Campaign is a list of contacts, its items, that an agent calls or writes to.
type Campaign struct {
	bun.BaseModel `bun:"table:campaigns,alias:campaign"`
	Owned

	ID                string `bun:",pk"`
	AgentID           string
	Name              string
	Status            CampaignStatus
	MaxAttempts       int32
	RetryDelayMinutes int32
	DefaultRegion     *string
	// OwnFields are fields of items in addition to the agent's fields.
	OwnFields []CampaignField `bun:"type:jsonb"`
	// ItemVersion is the version of the last changed item.
	ItemVersion int32 `bun:"version"`
	// Revision grows with every other change: of the campaign itself, and when an item is deleted.
	Revision  int32 `bun:",nullzero"`
	CreatedAt time.Time
	UpdatedAt time.Time

	counts func() (*CampaignItemCounts, error)
}

// ShareCounts makes all users of this campaign share its counts. The first caller of SharedCounts runs count.
func (c *Campaign) ShareCounts(count func() (*CampaignItemCounts, error)) {
	c.counts = sync.OnceValues(count)
}

// SharedCounts returns the shared counts; isShared is false if there are none.
func (c *Campaign) SharedCounts() (counts *CampaignItemCounts, isShared bool, err error) {
	if c.counts == nil {
		return nil, false, nil
	}
	counts, err = c.counts()
	return counts, true, err
}

// Cursor returns the position of this object in a list of campaigns.
func (c *Campaign) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// Version grows with every change of the campaign or its items.
func (c *Campaign) Version() int32 { return c.ItemVersion + c.Revision }

// MissingCampaign is like Missing for a campaign that contains the requested object. The Fields of the error name the
// argument, because REST v1 distinguishes a missing campaign from a missing object.
func MissingCampaign(argument, id string) *Error {
	err := Missing("campaign", id)
	err.Fields = Fields{argument: {"must be the id of a campaign"}}
	return err
}

var campaignStatuses = map[CampaignStatus][]CampaignStatus{
	CampaignStatusDraft:     {CampaignStatusRunning, CampaignStatusArchived},
	CampaignStatusRunning:   {CampaignStatusPaused, CampaignStatusCompleted, CampaignStatusArchived},
	CampaignStatusPaused:    {CampaignStatusRunning, CampaignStatusCompleted, CampaignStatusArchived},
	CampaignStatusCompleted: {CampaignStatusRunning, CampaignStatusArchived},
}

// NewCampaign returns the draft that the input describes, or BAD_INPUT with every bound that it breaks.
func NewCampaign(in CreateCampaignInput, now time.Time) (*Campaign, error) {
	c := &Campaign{
		ID: NewID("campaign"), AgentID: in.AgentID, Status: CampaignStatusDraft, OwnFields: []CampaignField{}, CreatedAt: now,
	}
	return c, c.Update(UpdateCampaignInput{
		Name: &in.Name, MaxAttempts: &in.MaxAttempts, RetryDelayMinutes: &in.RetryDelayMinutes,
		DefaultRegion: in.DefaultRegion,
	}, now)
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the campaign would break
// a bound, and CONFLICT when it is archived or cannot move to the state.
func (c *Campaign) Update(in UpdateCampaignInput, now time.Time) error {
	defer touch(&c.UpdatedAt, NextUpdatedAt(c.UpdatedAt, now), c, *c)
	setIfGiven(&c.Name, in.Name)
	setIfGiven(&c.MaxAttempts, in.MaxAttempts)
	setIfGiven(&c.RetryDelayMinutes, in.RetryDelayMinutes)
	setText(&c.DefaultRegion, in.DefaultRegion)
	var faults Fields
	faults.name("name", c.Name, 255)
	faults.count("maxAttempts", &c.MaxAttempts, 1, maxAttempts)
	faults.count("retryDelayMinutes", &c.RetryDelayMinutes, 0, maxRetryDelay)
	if c.DefaultRegion != nil && phonenumbers.GetCountryCodeForRegion(*c.DefaultRegion) == 0 {
		faults.Add("defaultRegion", "must be an ISO 3166 code of two capital letters, such as US or FR")
	}
	if in.Status != nil && !in.Status.IsValid() {
		faults.Add("status", "must be one of Draft, Running, Paused, Completed, Archived")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := c.Frozen(); err != nil {
		return err
	}
	return c.become(in.Status)
}

// Frozen returns CONFLICT if the campaign is archived, because archived campaigns never change.
func (c *Campaign) Frozen() error {
	if c.Status == CampaignStatusArchived {
		return Errorf(Conflict, "campaign %q is archived, so it cannot be changed", c.ID)
	}
	return nil
}

// allowCalls returns CONFLICT if no call may start. A draft allows calls, because not all dialers claim items.
func (c *Campaign) allowCalls() error {
	switch c.Status {
	case CampaignStatusPaused, CampaignStatusCompleted, CampaignStatusArchived:
	default:
		return nil
	}
	return Errorf(Conflict, "campaign %q is %s, so no call can start: calls in progress continue", c.ID, c.Status)
}

// AllowClaims returns CONFLICT if the campaign is not running.
func (c *Campaign) AllowClaims() error {
	if c.Status == CampaignStatusRunning {
		return nil
	}
	return Errorf(Conflict, "campaign %q is %s: items can be claimed only from a running campaign", c.ID, c.Status)
}

func (c *Campaign) become(status *CampaignStatus) error {
	if status == nil || *status == c.Status {
		return nil
	}
	next := campaignStatuses[c.Status]
	if !slices.Contains(next, *status) {
		names := Map(next, func(n CampaignStatus) string { return n.String() })
		return Errorf(Conflict, "campaign %q is %s: its status can change to %s, but not to "+
			"%s", c.ID, c.Status, strings.Join(names, ", "),
			*status)
	}
	c.Status = *status
	return nil
}

// Fields returns the fields of the items' data bags. The agent's fields come first, then the campaign's. A field of
// both is mandatory if it is mandatory in one of them.
func (c *Campaign) Fields(agent *Agent) []*CampaignField {
	fields := make([]*CampaignField, 0, len(agent.Fields)+len(c.OwnFields))
	known := make(map[string]*CampaignField, len(agent.Fields))
	for _, f := range agent.Fields {
		known[f.Name] = &CampaignField{Name: f.Name, IsMandatory: f.IsMandatory, IsSystem: f.IsSystem}
		fields = append(fields, known[f.Name])
	}
	for i := range c.OwnFields {
		// The agent may have been given a field of the same name later.
		if field := known[c.OwnFields[i].Name]; field != nil {
			field.IsMandatory = field.IsMandatory || c.OwnFields[i].IsMandatory
		} else {
			fields = append(fields, &c.OwnFields[i])
		}
	}
	return fields
}

// AddField adds a field to the campaign. It returns BAD_INPUT if the field breaks a bound, UNPROCESSABLE if the name is
// taken, and CONFLICT if the campaign is archived.
func (c *Campaign) AddField(in AddCampaignFieldInput, agent *Agent, now time.Time) (*CampaignField, error) {
	field := CampaignField{Name: in.Name, Description: in.Description, IsMandatory: in.IsMandatory}
	var faults Fields
	faults.text("name", in.Name, 1, maxDataBagName)
	if in.Name != "" {
		faults.fieldName("name", in.Name)
	}
	faults.optional("description", in.Description, maxDefinition)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if err := c.Frozen(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.Fields(agent), func(f *CampaignField) bool { return f.Name == in.Name }) {
		faults.Add("name", "is already the name of another field of the campaign or its agent")
	} else if len(c.OwnFields) >= maxOwnFields {
		faults.Add("campaignId", "has %d fields of its own, the maximum", maxOwnFields)
	}
	if err := faults.As(Unprocessable); err != nil {
		return nil, err
	}
	c.OwnFields = append(c.OwnFields, field)
	c.UpdatedAt = NextUpdatedAt(c.UpdatedAt, now)
	return &field, nil
}

// Validate checks the bounds of a filter.
func (f *CampaignFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.list("filter.statuses", len(f.Statuses), len(AllCampaignStatus))
		faults.optional("filter.nameContains", f.NameContains, 255)
	}
	return faults.Err()
}
