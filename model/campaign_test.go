package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func campaignWith[V any](change func(*CreateCampaignInput, V)) func(V) error {
	return func(v V) error {
		in := CreateCampaignInput{AgentID: "agent_1", Name: "a", MaxAttempts: 3}
		change(&in, v)
		_, err := NewCampaign(in, now)
		return err
	}
}

func ownField(name string) error {
	_, err := (&Campaign{Status: CampaignStatusDraft}).AddField(AddCampaignFieldInput{Name: name}, &Agent{}, now)
	return err
}

func TestCampaignTransitionsFollowTheTable(t *testing.T) {
	t.Parallel()
	lead := map[string]string{
		"Draft": "Running Archived", "Running": "Paused Completed Archived", "Paused": "Running Completed Archived",
		"Completed": "Running Archived", "Archived": "",
	}
	for _, from := range AllCampaignStatus {
		for _, to := range AllCampaignStatus {
			c := &Campaign{ID: "campaign_1", Name: "a", MaxAttempts: 1, Status: from}
			err := c.Update(UpdateCampaignInput{Status: &to}, now)
			legal := slices.Contains(strings.Fields(lead[from.String()]), to.String()) || from == to &&
				from != CampaignStatusArchived
			if legal {
				require.NoError(t, err, "%s to %s", from, to)
				require.Equal(t, to, c.Status)
				continue
			}
			var known *Error
			require.ErrorAs(t, err, &known, "%s to %s", from, to)
			require.Equal(t, Conflict, known.Code)
			require.Equal(t, from, c.Status)
		}
	}
}

func TestCampaignHasFieldsOfItsAgent(t *testing.T) {
	t.Parallel()
	agent := &Agent{Fields: []AgentField{{Name: "firstName", IsMandatory: true}, {Name: "phoneNumber", IsSystem: true}}}
	c := &Campaign{Status: CampaignStatusDraft}
	_, err := c.AddField(AddCampaignFieldInput{Name: "offer", Description: new("What is offered"), IsMandatory: true},
		agent, now)
	require.NoError(t, err)
	require.Equal(t, []*CampaignField{
		{Name: "firstName", IsMandatory: true}, {Name: "phoneNumber", IsSystem: true},
		{Name: "offer", Description: new("What is offered"), IsMandatory: true},
	}, c.Fields(agent))
	for _, name := range []string{"offer", "firstName"} {
		_, err = c.AddField(AddCampaignFieldInput{Name: name}, agent, now)
		require.ErrorContains(t, err, "another field")
	}
	agent.Fields = append(agent.Fields, AgentField{Name: "offer"})
	require.Equal(t, []*CampaignField{
		{Name: "firstName", IsMandatory: true}, {Name: "phoneNumber", IsSystem: true}, {Name: "offer", IsMandatory: true},
	}, c.Fields(agent), "the agent's counts, but the campaign still needs a value")
	for _, name := range []string{"1st", "a b", ".a", "ü"} {
		faults(t, ownField(name), "name", "letters")
	}
	c.OwnFields = make([]CampaignField, 100)
	_, err = c.AddField(AddCampaignFieldInput{Name: "more"}, agent, now)
	require.ErrorContains(t, err, "the maximum")
	c.Status = CampaignStatusArchived
	_, err = c.AddField(AddCampaignFieldInput{Name: "more"}, agent, now)
	require.ErrorContains(t, err, "archived")
}

func TestRegionsAreValidated(t *testing.T) {
	t.Parallel()
	region := campaignWith(func(in *CreateCampaignInput, region string) { in.DefaultRegion = &region })
	for _, known := range []string{"", "US", "FR", "GB"} {
		require.NoError(t, region(known))
	}
	for _, unknown := range []string{"us", "ZZ", "USA", "001"} {
		faults(t, region(unknown), "defaultRegion", "ISO 3166")
	}
}
