package model

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// itemTransition is a transition in the state machine of items: a report of a dialer, and its effect on the item.
type itemTransition struct {
	from, to CampaignItemStatus
	// label names the transition in errors about other transitions.
	label string
	// matches reports whether the report describes this transition.
	matches func(i *CampaignItem, c *Campaign, answered *bool) bool
	// apply changes the item and returns its events. The item already has the new state.
	apply func(i *CampaignItem, c *Campaign, in AdvanceCampaignItemInput, at time.Time) []itemEvent
}

type itemEvent struct {
	kind        CampaignItemEventType
	description string
}

// itemTransitions is the state machine. It does not contain Reset, which leads to Pending from every state, because
// dialers do not report it.
var itemTransitions = []itemTransition{
	{CampaignItemStatusPending, CampaignItemStatusCalling, "Calling", isCallAllowed, launch},
	{CampaignItemStatusCalling, CampaignItemStatusCalling, "Calling with answered true", justAnswered, pickUp},
	{CampaignItemStatusCalling, CampaignItemStatusProcessingResult, "ProcessingResult", notMissed, hangUp},
	{CampaignItemStatusCalling, CampaignItemStatusPending, "Pending with answered false", nobodyAnswered, miss},
	{CampaignItemStatusCalling, CampaignItemStatusProcessed, "Processed with answered false", lastMissed, miss},
	{CampaignItemStatusCalling, CampaignItemStatusError, "Error", always, breakOff},
	{CampaignItemStatusProcessingResult, CampaignItemStatusProcessed, "Processed", notMissed, finish},
	{CampaignItemStatusProcessingResult, CampaignItemStatusError, "Error", always, giveUp},
}

func always(*CampaignItem, *Campaign, *bool) bool { return true }

// hasAttemptsLeft reports whether the item may be called again. The campaign's limit may have been lowered since its
// last attempt.
func (i *CampaignItem) hasAttemptsLeft(c *Campaign) bool { return i.AttemptCount < c.MaxAttempts }

func isCallAllowed(i *CampaignItem, c *Campaign, answered *bool) bool {
	return i.hasAttemptsLeft(c) && (answered == nil || !*answered)
}

func notMissed(_ *CampaignItem, _ *Campaign, answered *bool) bool {
	return answered == nil || *answered
}

func justAnswered(i *CampaignItem, _ *Campaign, answered *bool) bool {
	return !i.IsPickedUp && answered != nil && *answered
}

func nobodyAnswered(i *CampaignItem, _ *Campaign, answered *bool) bool {
	return !i.IsPickedUp && (answered == nil || !*answered)
}

func lastMissed(i *CampaignItem, c *Campaign, answered *bool) bool {
	return !i.IsPickedUp && !i.hasAttemptsLeft(c) && answered != nil && !*answered
}

// Validate returns BAD_INPUT with every bound that the report breaks.
func (in AdvanceCampaignItemInput) Validate() error {
	var faults Fields
	if !in.To.IsValid() {
		faults.Add("to", "must be one of Pending, Calling, Processed, ProcessingResult, Error")
	}
	faults.optional("reason", in.Reason, maxReason)
	if in.ClaimID != nil {
		faults.text("claimId", *in.ClaimID, 1, MaxIDLength)
	}
	if in.Result != nil {
		if in.To != CampaignItemStatusProcessed || in.Answered != nil && !*in.Answered {
			faults.Add("result", "can be given only for the change from ProcessingResult to Processed")
		}
		faults.result("result", in.Result)
	}
	return faults.Err()
}

func (f *Fields) result(path string, in *CampaignItemResultInput) {
	if tag := in.Tag; tag != nil {
		f.name(path+".tag.name", tag.Name, 100)
		if tag.ID != nil {
			f.text(path+".tag.id", *tag.ID, 1, MaxIDLength)
		}
		if tag.Color != nil && !color.MatchString(*tag.Color) {
			f.Add(path+".tag.color", "must be a color such as #1A2B3C")
		}
	}
	f.optional(path+".summary", in.Summary, maxSummary)
	f.values(path+".metadata", in.Metadata)
	if in.Conversation == nil {
		return
	}
	f.text(path+".conversation.id", in.Conversation.ID, 1, MaxIDLength)
	if !f.list(path+".conversation.messages", len(in.Conversation.Messages), maxResultMessages) {
		return
	}
	for n, m := range in.Conversation.Messages {
		at := fmt.Sprintf("%s.conversation.messages.%d", path, n)
		f.text(at+".text", m.Text, 0, maxResultMessage)
		f.optional(at+".intent", m.Intent, 255)
		if !m.Role.IsValid() {
			f.Add(at+".role", "must be one of assistant, user")
		}
	}
}

// Advance applies a valid report and returns the new events. tags are the agent's tags. A result's tag is a system tag
// if the agent has a system tag of the same name, or if it has the name of noAnswer. Advance returns CONFLICT and
// changes nothing if the item is archived or cannot make this transition. It also returns CONFLICT if the report names
// another claim, or starts a call although the campaign is paused, completed or archived.
func (i *CampaignItem) Advance(in AdvanceCampaignItemInput, c *Campaign, tags []ClassificationTag,
	at time.Time) ([]*CampaignItemEvent, error) {
	if in.ClaimID != nil && (i.ClaimID == nil || *i.ClaimID != *in.ClaimID) {
		return nil, Errorf(Conflict, "campaign item %q is no longer claimed by %q: claim it again", i.ID, *in.ClaimID)
	}
	if i.IsArchived {
		return nil, Errorf(Conflict, "campaign item %q is archived: unarchive it first", i.ID)
	}
	if i.RunningStatus == CampaignItemStatusPending && in.To == CampaignItemStatusCalling {
		if err := c.allowCalls(); err != nil {
			return nil, err
		}
	}
	for _, move := range itemTransitions {
		if move.from != i.RunningStatus || move.to != in.To || !move.matches(i, c, in.Answered) {
			continue
		}
		if in.Reason != nil {
			in.Reason = new(strings.TrimSpace(mask(*in.Reason)))
		}
		i.RunningStatus = move.to
		events := i.appendEvents(move.apply(i, c, in, at), at)
		if i.Result != nil && i.Result.Tag != nil {
			i.Result.IsSystem = isSystemTag(tags, i.Result.Tag.Name)
		}
		return events, nil
	}
	return nil, i.refuse(in, c)
}

func (i *CampaignItem) refuse(in AdvanceCampaignItemInput, c *Campaign) error {
	var labels []string
	for _, move := range itemTransitions {
		// A transition is possible if it matches either an answered or an unanswered attempt.
		if move.from == i.RunningStatus && (move.matches(i, c, new(true)) || move.matches(i, c, new(false))) {
			labels = append(labels, move.label)
		}
	}
	report := in.To.String()
	if in.Answered != nil {
		report = fmt.Sprintf("%s with answered %t", in.To, *in.Answered)
	}
	if i.RunningStatus == CampaignItemStatusPending && !i.hasAttemptsLeft(c) {
		return Errorf(Conflict, "campaign item %q had %d of %d attempts, so it cannot change to %s: reset it, or raise "+
			"the campaign's maxAttempts",
			i.ID, i.AttemptCount, c.MaxAttempts, report)
	}
	if labels == nil {
		return Errorf(Conflict, "campaign item %q is %s, so it cannot change to %s: it can only be "+
			"reset", i.ID, i.RunningStatus,
			report)
	}
	return Errorf(Conflict, "campaign item %q is %s, so it cannot change to %s, only to %s", i.ID, i.RunningStatus, report,
		strings.Join(labels, ", "))
}

// Validate checks the expected version.
func (in ResetCampaignItemInput) Validate() error {
	var faults Fields
	faults.expectedVersion(in.ExpectedVersion)
	return faults.Err()
}

// Expect returns CONFLICT if the item has another version. A nil version matches any.
func (i *CampaignItem) Expect(version *int32) error {
	if version != nil && *version != i.Version {
		return otherVersion(Errorf(Conflict, "campaign item %q has changed since you read it: it is %s with version %d, "+
			"not %d. Read it again", i.ID, i.RunningStatus, i.Version, *version))
	}
	return nil
}

// Reset resets the item to its first state, due immediately, and returns the event. It returns CONFLICT if the item is
// archived.
func (i *CampaignItem) Reset(at time.Time) ([]*CampaignItemEvent, error) {
	if i.IsArchived {
		return nil, Errorf(Conflict, "campaign item %q is archived: unarchive it first", i.ID)
	}
	was := i.RunningStatus
	i.RunningStatus = CampaignItemStatusPending
	i.AttemptCount, i.IsPickedUp, i.ClaimID, i.DueAt = 0, false, nil, at
	i.Result, i.Error, i.ProcessedAt, i.NextTryDate = nil, nil, nil, nil
	return i.appendEvents([]itemEvent{{CampaignItemEventTypeResetCall,
			fmt.Sprintf("The item was %s and was reset.", was)}}, at),
		nil
}

func (i *CampaignItem) appendEvents(all []itemEvent, at time.Time) []*CampaignItemEvent {
	events := make([]*CampaignItemEvent, len(all))
	for n, h := range all {
		i.EventCount++
		events[n] = &CampaignItemEvent{ItemID: i.ID, Number: i.EventCount, Type: h.kind, Date: at, Description: h.description}
	}
	return events
}

func launch(i *CampaignItem, c *Campaign, _ AdvanceCampaignItemInput, at time.Time) []itemEvent {
	i.AttemptCount++
	i.LastCallDate, i.NextTryDate = &at, nil
	description := fmt.Sprintf("Attempt %d of %d began", i.AttemptCount, c.MaxAttempts)
	if i.PhoneNumber != "" {
		description += ": " + mask(i.PhoneNumber)
	}
	return []itemEvent{{CampaignItemEventTypeLaunchCall, description + "."}}
}

func pickUp(i *CampaignItem, _ *Campaign, _ AdvanceCampaignItemInput, _ time.Time) []itemEvent {
	i.IsPickedUp = true
	return []itemEvent{{CampaignItemEventTypePickUp, "The contact answered."}}
}

func hangUp(i *CampaignItem, c *Campaign, in AdvanceCampaignItemInput, at time.Time) []itemEvent {
	var all []itemEvent
	if !i.IsPickedUp {
		all = pickUp(i, c, in, at)
	}
	i.IsPickedUp = false
	return append(all, endEvent("The conversation ended", in.Reason))
}

// miss ends an unanswered attempt. The item is due again later, or gets the tag for no answer after its last attempt.
func miss(i *CampaignItem, c *Campaign, in AdvanceCampaignItemInput, at time.Time) []itemEvent {
	i.ClaimID = nil
	if !i.hasAttemptsLeft(c) {
		i.RunningStatus, i.ProcessedAt = CampaignItemStatusProcessed, &at
		i.Result = &CampaignItemResult{Tag: noAnswer(), Metadata: JSONObject("{}")}
		return []itemEvent{endEvent("Nobody answered the last attempt", in.Reason)}
	}
	next := at.Add(time.Duration(c.RetryDelayMinutes) * time.Minute)
	i.NextTryDate, i.DueAt = &next, next
	return []itemEvent{endEvent("Nobody answered; the next attempt is due at "+next.UTC().Format(time.RFC3339), in.Reason)}
}

// breakOff ends an attempt that failed for a technical reason.
func breakOff(i *CampaignItem, c *Campaign, in AdvanceCampaignItemInput, at time.Time) []itemEvent {
	_ = giveUp(i, c, in, at)
	return []itemEvent{endEvent("The attempt failed", i.Error)}
}

// giveUp ends a failed evaluation. The attempt itself is already over.
func giveUp(i *CampaignItem, _ *Campaign, in AdvanceCampaignItemInput, _ time.Time) []itemEvent {
	i.ClaimID, i.IsPickedUp = nil, false
	i.Error = in.Reason
	if i.Error == nil || *i.Error == "" {
		i.Error = new("no reason was given")
	}
	return nil
}

func finish(i *CampaignItem, _ *Campaign, in AdvanceCampaignItemInput, at time.Time) []itemEvent {
	i.ClaimID, i.ProcessedAt = nil, &at
	i.Result = in.Result.result()
	return nil
}

func endEvent(what string, reason *string) itemEvent {
	if reason != nil && *reason != "" {
		what += ": " + *reason
	}
	return itemEvent{CampaignItemEventTypeEndCall, strings.TrimSuffix(what, ".") + "."}
}

// noAnswer returns the system tag for a contact who never answered.
func noAnswer() *CampaignItemTag {
	return &CampaignItemTag{ID: "tag_no_answer", Name: "No answer", Color: "#6B7280"}
}

func isSystemTag(tags []ClassificationTag, name string) bool {
	return name == noAnswer().Name || slices.ContainsFunc(tags, func(t ClassificationTag) bool {
		return t.Name == name &&
			t.IsSystem
	})
}

// tagColors are the colors of tags without a color of their own.
var tagColors = []string{"#2563EB", "#059669", "#D97706", "#7C3AED", "#DB2777", "#0891B2", "#65A30D", "#DC2626"}

func (in *CampaignItemResultInput) result() *CampaignItemResult {
	if in == nil {
		return &CampaignItemResult{Metadata: JSONObject("{}")}
	}
	r := &CampaignItemResult{Summary: in.Summary, Metadata: in.Metadata.text()}
	if tag := in.Tag; tag != nil {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(tag.Name))
		r.Tag = &CampaignItemTag{
			ID: fmt.Sprintf("tag_%016x", sum.Sum64()), Name: tag.Name, Color: tagColors[sum.Sum64()%uint64(len(tagColors))],
		}
		if tag.Name == noAnswer().Name {
			r.Tag = noAnswer()
		}
		setIfGiven(&r.Tag.ID, tag.ID)
		setIfGiven(&r.Tag.Color, tag.Color)
	}
	if in.Conversation != nil {
		r.Conversation = &CampaignItemConversation{ID: in.Conversation.ID, Messages: []*CampaignItemMessage{}}
		for _, m := range in.Conversation.Messages {
			message := CampaignItemMessage(*m)
			r.Conversation.Messages = append(r.Conversation.Messages, &message)
		}
	}
	return r
}
