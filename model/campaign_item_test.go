package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// machine is the documented state machine of an item, implemented independently of the program.
type machine struct {
	status         CampaignItemStatus
	attempts, most int32
	isPickedUp     bool
}

// report returns the machine after a report, the events of the transition, and whether it is legal.
func (m machine) report(to CampaignItemStatus, answered *bool) (machine, string, bool) {
	yes, no := answered != nil && *answered, answered != nil && !*answered
	switch string(m.status) + " to " + string(to) {
	case "Pending to Calling":
		legal := !yes && m.attempts < m.most
		m.status, m.attempts, m.isPickedUp = to, m.attempts+1, false
		return m, "LaunchCall", legal
	case "Calling to Calling":
		legal := yes && !m.isPickedUp
		m.isPickedUp = true
		return m, "PickUp", legal
	case "Calling to ProcessingResult":
		events := "PickUp EndCall"
		if m.isPickedUp {
			events = "EndCall"
		}
		m.status = to
		return m, events, !no
	case "Calling to Pending", "Calling to Processed":
		legal := !m.isPickedUp && !yes
		if to == CampaignItemStatusProcessed {
			legal = legal && no && m.attempts >= m.most
		}
		if m.status = CampaignItemStatusPending; m.attempts >= m.most {
			m.status = CampaignItemStatusProcessed
		}
		return m, "EndCall", legal
	case "Calling to Error":
		m.status = to
		return m, "EndCall", true
	case "ProcessingResult to Error":
		m.status = to
		return m, "", true
	case "ProcessingResult to Processed":
		m.status = to
		return m, "", !no
	}
	return m, "", false
}

func typesOf(events []*CampaignItemEvent) string {
	var names []string
	for _, e := range events {
		names = append(names, e.Type.String())
	}
	return strings.Join(names, " ")
}

func TestItemFollowsItsStateMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		attempts := rapid.Int32Range(1, 4)
		c := &Campaign{MaxAttempts: attempts.Draw(r, "attempts"), RetryDelayMinutes: rapid.Int32Range(0, 90).Draw(r, "delay")}
		at := now
		item := &CampaignItem{ID: "item_1", RunningStatus: CampaignItemStatusPending, PhoneNumber: "+12025550143", DueAt: at,
			CreatedAt: at}
		want := machine{status: CampaignItemStatusPending, most: c.MaxAttempts}
		for range rapid.IntRange(1, 40).Draw(r, "moves") {
			at = at.Add(time.Minute)
			if rapid.IntRange(0, 9).Draw(r, "other") == 0 {
				c.MaxAttempts = attempts.Draw(r, "attempts from now on")
				want.most = c.MaxAttempts
			}
			if rapid.IntRange(0, 9).Draw(r, "reset") == 0 {
				events, err := item.Reset(at)
				require.NoError(r, err)
				require.Equal(r, "ResetCall", typesOf(events))
				want.status, want.attempts, want.isPickedUp = CampaignItemStatusPending, 0, false
				require.Equal(r, at, item.DueAt)
				require.Nil(r, item.NextTryDate)
			} else {
				in := AdvanceCampaignItemInput{To: rapid.SampledFrom(AllCampaignItemStatus).Draw(r, "to")}
				in.Answered = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(r, "answered")
				before := *item
				next, happened, legal := want.report(in.To, in.Answered)
				events, err := item.Advance(in, c, nil, at)
				if !legal {
					require.Equal(r, before, *item, "an illegal move changes nothing")
					requireLegalMovesNamed(r, err, want)
					continue
				}
				require.NoError(r, err)
				require.Equal(r, happened, typesOf(events))
				if happened == "LaunchCall" {
					require.LessOrEqual(r, item.AttemptCount, c.MaxAttempts)
				}
				want = next
			}
			require.Equal(r, want.status, item.RunningStatus)
			require.Equal(r, want.attempts, item.AttemptCount)
			requireInvariants(r, item)
		}
	})
}

// requireLegalMovesNamed requires a CONFLICT that names every state to which a report could lead.
func requireLegalMovesNamed(t require.TestingT, err error, m machine) {
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, Conflict, known.Code)
	_, only, _ := strings.Cut(known.Message, "only")
	for _, to := range AllCampaignItemStatus {
		legal := slices.ContainsFunc([]*bool{nil, new(true), new(false)}, func(answered *bool) bool {
			_, _, legal := m.report(to, answered)
			return legal
		})
		names := " " + strings.ReplaceAll(only, ",", " ") + " "
		require.Equal(t, legal, strings.Contains(names, " "+to.String()+" "), "%s: %s", to, known.Message)
	}
}

// requireInvariants requires the invariants of an item in any state.
func requireInvariants(t require.TestingT, i *CampaignItem) {
	require.Equal(t, i.RunningStatus == CampaignItemStatusProcessed, i.ProcessedAt != nil)
	require.Equal(t, i.RunningStatus == CampaignItemStatusProcessed, i.Result != nil)
	require.Equal(t, i.RunningStatus == CampaignItemStatusError, i.Error != nil)
	if i.NextTryDate != nil {
		require.Equal(t, CampaignItemStatusPending, i.RunningStatus)
		require.Equal(t, *i.NextTryDate, i.DueAt)
		require.Positive(t, i.AttemptCount)
	}
	if i.RunningStatus != CampaignItemStatusPending {
		require.NotNil(t, i.LastCallDate)
		require.Positive(t, i.AttemptCount)
	}
}

func moved(t *testing.T, i *CampaignItem, c *Campaign, in AdvanceCampaignItemInput) []*CampaignItemEvent {
	t.Helper()
	require.NoError(t, in.Validate())
	events, err := i.Advance(in, c, []ClassificationTag{{Name: "Voicemail", IsSystem: true}, {Name: "Booked"}}, now)
	require.NoError(t, err)
	return events
}

func TestUnansweredItemIsRetriedThenTagged(t *testing.T) {
	t.Parallel()
	c := &Campaign{MaxAttempts: 2, RetryDelayMinutes: 30}
	i := &CampaignItem{RunningStatus: CampaignItemStatusPending, PhoneNumber: "+33199001234"}
	launched := moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusCalling})
	require.Equal(t, "Attempt 1 of 2 began: +*******1234.", launched[0].Description)
	missed := moved(t, i, c, AdvanceCampaignItemInput{
		To: CampaignItemStatusPending, Answered: new(false), Reason: new("busy, forwarded to +33 1 99 00 98 76"),
	})
	require.Equal(t, now.Add(30*time.Minute), *i.NextTryDate)
	require.Contains(t, missed[0].Description, "Nobody answered")
	require.Contains(t, missed[0].Description, ": busy, forwarded to +** * ** ** 98 76.")
	moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusCalling})
	require.Nil(t, i.NextTryDate)
	moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusProcessed, Answered: new(false)})
	require.Equal(t, &CampaignItemResult{
		Tag: &CampaignItemTag{ID: "tag_no_answer", Name: "No answer", Color: "#6B7280"}, IsSystem: true,
		Metadata: JSONObject("{}"),
	}, i.Result)
	require.EqualValues(t, 4, i.EventCount)
}

func TestItemsStoreTheirResults(t *testing.T) {
	t.Parallel()
	c := &Campaign{MaxAttempts: 1}
	processed := func(in *CampaignItemResultInput) *CampaignItemResult {
		i := &CampaignItem{RunningStatus: CampaignItemStatusPending}
		moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusCalling})
		moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusProcessingResult, Answered: new(true)})
		moved(t, i, c, AdvanceCampaignItemInput{To: CampaignItemStatusProcessed, Result: in})
		require.Equal(t, now, *i.ProcessedAt)
		return i.Result
	}
	require.Equal(t, &CampaignItemResult{Metadata: JSONObject("{}")}, processed(nil))
	booked := processed(&CampaignItemResultInput{
		Tag: &CampaignItemTagInput{Name: "Booked"}, Metadata: JSONObject(`{"day":"Monday"}`),
		Conversation: &CampaignItemConversationInput{ID: "call_7",
			Messages: []*CampaignItemMessageInput{{Timestamp: now, Role: MessageRoleUser, Text: "Yes"}}},
	})
	require.False(t, booked.IsSystem)
	require.Regexp(t, `^#[0-9A-F]{6}$`, booked.Tag.Color)
	require.Equal(t, booked.Tag, processed(&CampaignItemResultInput{Tag: &CampaignItemTagInput{Name: "Booked"}}).Tag,
		"tags with the same name are equal")
	require.NotEqual(t, booked.Tag.ID, processed(&CampaignItemResultInput{Tag: &CampaignItemTagInput{Name: "Refused"}}).
		Tag.ID)
	require.Equal(t, "Yes", booked.Conversation.Messages[0].Text)
	require.Equal(t, JSONObject("{}"), processed(&CampaignItemResultInput{Summary: new("Short")}).Metadata)
	require.True(t, processed(&CampaignItemResultInput{Tag: &CampaignItemTagInput{Name: "Voicemail"}}).IsSystem)
	own := processed(&CampaignItemResultInput{Tag: &CampaignItemTagInput{Name: "No answer", Color: new("#000000")}})
	require.True(t, own.IsSystem)
	require.Equal(t, &CampaignItemTag{ID: "tag_no_answer", Name: "No answer", Color: "#000000"}, own.Tag)
}

func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	to := func(change func(*CampaignItemResultInput)) AdvanceCampaignItemInput {
		result := &CampaignItemResultInput{Tag: &CampaignItemTagInput{Name: "a"},
			Conversation: &CampaignItemConversationInput{ID: "a"}}
		change(result)
		return AdvanceCampaignItemInput{To: CampaignItemStatusProcessed, Result: result}
	}
	require.NoError(t, to(func(*CampaignItemResultInput) {}).Validate())
	for field, in := range map[string]AdvanceCampaignItemInput{
		"to":                     {To: "Done"},
		"claimId":                {To: CampaignItemStatusCalling, ClaimID: new("")},
		"reason":                 {To: CampaignItemStatusError, Reason: new(strings.Repeat("é", 1_001))},
		"result":                 {To: CampaignItemStatusPending, Result: &CampaignItemResultInput{}},
		"result.tag.name":        to(func(r *CampaignItemResultInput) { r.Tag.Name = "" }),
		"result.tag.id":          to(func(r *CampaignItemResultInput) { r.Tag.ID = new("") }),
		"result.tag.color":       to(func(r *CampaignItemResultInput) { r.Tag.Color = new("red") }),
		"result.summary":         to(func(r *CampaignItemResultInput) { r.Summary = new(strings.Repeat("é", 10_001)) }),
		"result.metadata.day":    to(func(r *CampaignItemResultInput) { r.Metadata = JSONObject(`{"day":[1e999]}`) }),
		"result.conversation.id": to(func(r *CampaignItemResultInput) { r.Conversation.ID = "" }),
		"result.conversation.messages": to(func(r *CampaignItemResultInput) {
			r.Conversation.Messages = make([]*CampaignItemMessageInput, 501)
		}),
		"result.conversation.messages.0.text": to(func(r *CampaignItemResultInput) {
			r.Conversation.Messages = []*CampaignItemMessageInput{{Role: MessageRoleUser, Text: strings.Repeat("é", 10_001)}}
		}),
		"result.conversation.messages.0.role": to(func(r *CampaignItemResultInput) {
			r.Conversation.Messages = []*CampaignItemMessageInput{{Role: "system"}}
		}),
		"result.conversation.messages.0.intent": to(func(r *CampaignItemResultInput) {
			r.Conversation.Messages = []*CampaignItemMessageInput{{Role: MessageRoleUser, Intent: new(strings.Repeat("é", 256))}}
		}),
	} {
		faults(t, in.Validate(), field, "")
	}
}

func TestReportNeedsTheClaimOfItsItem(t *testing.T) {
	t.Parallel()
	c := &Campaign{MaxAttempts: 3}
	i := &CampaignItem{RunningStatus: CampaignItemStatusPending, ClaimID: new("claim_1"), DueAt: time.Now().
		Add(time.Minute)}
	require.NotNil(t, i.ClaimedUntil())
	_, err := i.Advance(AdvanceCampaignItemInput{To: CampaignItemStatusCalling, ClaimID: new("claim_0")}, c, nil, now)
	require.ErrorContains(t, err, `no longer claimed by "claim_0"`)
	for _, to := range []CampaignItemStatus{CampaignItemStatusCalling, CampaignItemStatusProcessingResult} {
		moved(t, i, c, AdvanceCampaignItemInput{To: to, ClaimID: new("claim_1")})
		require.Nil(t, i.ClaimedUntil(), "the claim is over once the call begins")
	}
	_, err = i.Reset(now)
	require.NoError(t, err)
	_, err = i.Advance(AdvanceCampaignItemInput{To: CampaignItemStatusCalling, ClaimID: new("claim_1")}, c, nil, now)
	require.ErrorContains(t, err, "no longer claimed by")
}

func TestPhoneNumbersAreNormalized(t *testing.T) {
	t.Parallel()
	e164 := func(number string, region *string, channel Channel) (string, error) {
		c := &Campaign{DefaultRegion: region}
		items, err := c.NewItems(AddCampaignItemsInput{Items: []*CampaignItemInput{{PhoneNumber: number}}},
			&Agent{Channel: channel}, now)
		if err != nil {
			return "", err
		}
		return items[0].PhoneNumber, nil
	}
	for given, want := range map[string]string{
		"+12025550143": "+12025550143", "+1 (202) 555-0143": "+12025550143", " +33 1 99 00 12 34 ": "+33199001234",
		"+44 20 7946 0958": "+442079460958", "+33 (0)1 99 00 12 34": "+33199001234",
		"\u202a+1 202\u200e 555\u00ad0143\u202c": "+12025550143", "\ufeff\u2068+12025550143\u2069": "+12025550143",
	} {
		got, err := e164(given, nil, ChannelPhone)
		require.NoError(t, err, given)
		require.Equal(t, want, got)
	}
	got, err := e164("01 99 00 12 34", new("FR"), ChannelSms)
	require.NoError(t, err)
	require.Equal(t, "+33199001234", got)
	got, err = e164("", nil, ChannelWeb)
	require.NoError(t, err)
	require.Empty(t, got)
	for _, given := range []string{"0199001234", "+1", "+999123456789", "hello", "+1202555014a3x", "+12025550143 ext. 7",
		"+12025550143#7", "+1202\x00", strings.Repeat("1", 41), "+15"} {
		_, err := e164(given, nil, ChannelPhone)
		faults(t, err, "items.0.phoneNumber", "must ")
	}
	for _, given := range []string{"tel:+12025550143", "+12025550143x5", "+12025550143 ext. 7"} {
		_, err := e164(given, new("FR"), ChannelPhone)
		faults(t, err, "items.0.phoneNumber", "write only the number, without letters such as tel: and without an extension")
	}
	for _, channel := range []Channel{ChannelPhone, ChannelSms, ChannelWhatsApp} {
		_, err := e164("", nil, channel)
		faults(t, err, "items.0.phoneNumber", "need a phone number")
	}
	_, err = e164("12", new("FR"), ChannelPhone)
	faults(t, err, "items.0.phoneNumber", "region FR")

	// Spreadsheets drop the + and the first 0 of numbers. Digits that are valid with either are ambiguous.
	for given, region := range map[string]string{"4917612345678": "DE", "4915112345678": "DE", "49 170 555 0110": "DE",
		"3906123456": "IT", "461167981": "SE"} {
		_, err := e164(given, &region, ChannelPhone)
		faults(t, err, "items.0.phoneNumber", "must begin with + and the country code: "+given[:2]+
			" can be the country code, or the start of a national number of region "+region)
	}
	for given, want := range map[string]string{
		"4930112299": "DE:+4930112299", "0491 7612345678": "DE:+494917612345678", "0049 176 12345678": "DE:+4917612345678",
		"+49 176 12345678": "DE:+4917612345678", "17612345678": "DE:+4917612345678", "442079460958": "GB:+442079460958",
		"33199001234": "FR:+33199001234", "12025550143": "US:+12025550143", "4312345678": "US:+14312345678",
		"3931234567": "IT:+393931234567",
	} {
		region, number, _ := strings.Cut(want, ":")
		got, err := e164(given, &region, ChannelPhone)
		require.NoError(t, err, given)
		require.Equal(t, number, got)
	}
}

func TestNumbersInTextsAreMasked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+12025550143": "+*******0143", "call 202-555-0143 now": "call ***-***-0143 now", "code 4711": "code 4711",
		"Ruf ＋４９３０２３１２５５５５ an": "Ruf ＋********５５５５ an", "+49‐30‐2312‐5555": "+**‐**‐****‐5555",
		"SIP 486, (202) 555.0143": "SIP 486, (***) ***.0143", "no digits": "no digits",
		"+49\u200e 30\u202c 1234567":                    "+**\u200e **\u202c ***4567",
		"+33 1 99 00 12 34 or +33 1 99 00 98 76":        "+** * ** ** 12 34 or +** * ** ** 98 76",
		"2026-11-29 10:30:00 timeout":                   "2026-11-29 10:30:00 timeout",
		"at 2026-11-29T10:30:00.123Z, 10.20.30.40:5060": "at 2026-11-29T10:30:00.123Z, 10.20.30.40:5060",
		"10.20.30.40 10:30:00":                          "10.20.30.40 10:30:00",
		"+49 2026-11-29":                                "+** ****-11-29",
		"2026-13-29":                                    "****-13-29", "2026-11-29 5550143": "****-**-** ***0143",
		"01.42.68.53.00":              "**.**.**.53.00",
		"Rückruf ab 31.12.2026 10:00": "Rückruf ab 31.12.2026 10:00", "12/31/2026 1:30 PM": "12/31/2026 1:30 PM",
		"31-12-2026, 1.2.2026, 2026/12/31": "31-12-2026, 1.2.2026, 2026/12/31", "٣١/١٢/٢٠٢٦ ١٠:٠٠": "٣١/١٢/٢٠٢٦ ١٠:٠٠",
		"Betrag 1.234.567,89 EUR, 12 345 678,90": "Betrag 1.234.567,89 EUR, 12 345 678,90", "1,234,567.89": "1,234,567.89",
		"1.234.567": "*.**4.567", "612.345.678,22": "***.**5.678,22", "1.234.567,891": "*.**4.567,891",
		"1.234.567,89,12": "*.**4.567,89,12", "1.234.567,00 00000": "*.**4.567,** *0000",
		"+1.234.567,89": "+*.**4.567,89", "31.12.2026 5550143": "**.**.**** ***0143",
		"32.12.2026": "**.**.2026", "0176 123 4567": "**** *** 4567", "+90 532 123 45 68": "+** *** *** 45 68",
		"030/1234567": "***/***4567", "555-0100-222": "***-***0-222", "2026-4711": "****-4711",
		"202.555.01.43": "***.***.01.43", "10.20.30.40.50": "**.**.**.40.50",
	} {
		require.Equal(t, want, mask(text))
	}
}

func TestItemsNeedTheirMandatoryFields(t *testing.T) {
	t.Parallel()
	c := &Campaign{ID: "campaign_1", ItemVersion: 7, OwnFields: []CampaignField{{Name: "offer", IsMandatory: true}}}
	agent := &Agent{Channel: ChannelWeb, Fields: []AgentField{
		{Name: "firstName", IsMandatory: true}, {Name: "phoneNumber", IsMandatory: true, IsSystem: true}, {Name: "city"},
	}}
	given := func(bags ...string) AddCampaignItemsInput {
		var in AddCampaignItemsInput
		for _, bag := range bags {
			in.Items = append(in.Items, &CampaignItemInput{DataBag: JSONObject(bag)})
		}
		return in
	}
	items, err := c.NewItems(given(`{"firstName":"Ada","offer":"A","other":"kept"}`, `{"offer":"B","firstName":"Al"}`),
		agent, now)
	require.NoError(t, err)
	require.EqualValues(t, 8, items[0].Version)
	require.EqualValues(t, 9, items[1].Version)
	_, err = c.NewItems(given(`{"firstName":"Ada","offer":"A"}`, `{"firstName":" "}`), agent, now)
	var known *Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, Unprocessable, known.Code)
	require.Len(t, known.Fields, 2)
	require.Contains(t, known.Fields, "items.1.dataBag.firstName")
	require.Contains(t, known.Fields, "items.1.dataBag.offer")
	_, err = c.NewItems(given(`{"firstName":7}`), agent, now)
	faults(t, err, "items.0.dataBag.firstName", "must be a string")
	_, err = c.NewItems(AddCampaignItemsInput{Items: make([]*CampaignItemInput, 0)}, agent, now)
	require.NoError(t, err)
	items, err = (&Campaign{}).NewItems(AddCampaignItemsInput{Items: []*CampaignItemInput{{}}},
		&Agent{Channel: ChannelWeb}, now)
	require.NoError(t, err)
	require.Equal(t, JSONObject("{}"), items[0].DataBag)
}
