package model

import (
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/text/unicode/norm"
)

// Bounds of an agent. MaxPromptLength is also the bound of REST v1.
const (
	MaxPromptLength  = 50_000
	maxWelcomeLength = 5_000
	maxTags          = 50
	maxValueObjects  = 100
	maxDefinition    = 2_000
	// MaxModelName bounds the names of models that agents can choose.
	MaxModelName = 100
)

// Agent is a conversational agent. Its fields, tags and extracted values are value objects, so its row contains them.
type Agent struct {
	bun.BaseModel `bun:"table:agents,alias:agent"`
	Owned

	ID        string `bun:",pk"`
	Name      string
	Channel   Channel
	Direction Direction
	Language  string
	// Tags is JSON instead of an array, because bun reads two apostrophes in an array's text as one.
	Tags                   []string `bun:"type:jsonb"`
	Prompt                 string
	PromptVersion          int32
	OutboundWelcomeMessage *string
	InboundWelcomeMessage  *string
	Fields                 []AgentField        `bun:"type:jsonb"`
	ClassificationTags     []ClassificationTag `bun:"type:jsonb"`
	ExtractedValues        []ExtractedValue    `bun:"type:jsonb"`
	IsCallTransferEnabled  bool
	KnowledgeBaseChatID    *string
	// Model is the name of the language model that the agent uses. Nil means the server's default.
	Model     *string
	CreatedAt time.Time
	UpdatedAt time.Time
	// Tried are the settings of a variant. Only snapshots of test runs have them.
	Tried TriedSettings `bun:"-" json:"tried,omitzero"`
	// DelegateVersions are the prompt versions of the agents that it delegates to, directly or through others, by their
	// ids. Only snapshots of test runs have them.
	DelegateVersions map[string]int32 `bun:",scanonly" json:"delegateVersions,omitempty"`
}

// AgentField is a variable that the prompt expects.
type AgentField struct {
	Name        string `json:"name"`
	IsMandatory bool   `json:"isMandatory"`
	IsSystem    bool   `json:"isSystem"`
}

// ClassificationTag is a tag that the agent can assign after a conversation.
type ClassificationTag struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	IsSystem   bool   `json:"isSystem"`
}

// ExtractedValue is a value that is extracted after a conversation.
type ExtractedValue struct {
	Name       string             `json:"name"`
	Definition string             `json:"definition"`
	Type       ExtractedValueType `json:"type"`
}

// Cursor returns the agent's position in a list of agents.
func (a *Agent) Cursor() Cursor { return Cursor{a.CreatedAt, a.ID} }

// cursorBy is the agent's position in a list with that order.
func (a *Agent) cursorBy(order AgentOrder) OrderedCursor {
	if order == AgentOrderName {
		return OrderedCursor{order, a.Name, a.ID}
	}
	return OrderedCursor{order, a.UpdatedAt.UTC().Format(time.RFC3339Nano), a.ID}
}

// WelcomeMessage is the agent's first message, with unfilled placeholders. It is nil when the contact starts the
// conversation.
func (a *Agent) WelcomeMessage() *string {
	message := a.InboundWelcomeMessage
	if a.Direction == DirectionOutbound {
		message = a.OutboundWelcomeMessage
	}
	if message == nil || *message == "" {
		return nil
	}
	return message
}

// NewAgent returns the agent that the input describes. Its prompt is version 1.
func NewAgent(in CreateAgentInput, now time.Time) (*Agent, error) {
	a := &Agent{
		ID: NewID("agent"), CreatedAt: now, PromptVersion: 1,
		Prompt: in.Prompt, Tags: []string{}, Fields: []AgentField{},
		ClassificationTags: []ClassificationTag{}, ExtractedValues: []ExtractedValue{},
	}
	var faults Fields
	faults.visible("prompt", &in.Prompt)
	return a, JoinFaults(faults.Err(), a.Update(UpdateAgentInput{
		Name: &in.Name, Channel: &in.Channel, Direction: &in.Direction, Language: &in.Language, Tags: in.Tags,
		OutboundWelcomeMessage: in.OutboundWelcomeMessage, InboundWelcomeMessage: in.InboundWelcomeMessage,
		Fields: in.Fields, ClassificationTags: in.ClassificationTags, ExtractedValues: in.ExtractedValues,
		IsCallTransferEnabled: &in.IsCallTransferEnabled, Model: in.Model,
	}, now))
}

// Duplicate returns a new agent with another name. Its prompt is version 1. It returns BAD_INPUT for an invalid name.
func (a *Agent) Duplicate(name string, now time.Time) (*Agent, error) {
	other := *a
	other.ID, other.CreatedAt, other.UpdatedAt, other.PromptVersion = NewID("agent"), now, now, 1
	return &other, other.Update(UpdateAgentInput{Name: &name}, now)
}

// CanTransfer reports whether the agent may transfer the contact to a human, which only works for calls.
func (a *Agent) CanTransfer() bool { return a.IsCallTransferEnabled && a.Channel == ChannelPhone }

// ShowsSources reports whether contacts on the channel see the sources of an answer. Spoken text and SMS cannot show
// reference marks.
func (c Channel) ShowsSources() bool { return c == ChannelWeb || c == ChannelWhatsApp }

// Expect returns CONFLICT when the agent has changed since the version that the input is based on.
func (a *Agent) Expect(in UpdateAgentInput) error {
	if in.ExpectedVersion != nil && *in.ExpectedVersion != a.PromptVersion {
		return otherVersion(Errorf(Conflict, "the prompt of agent %q has changed since you read it: it has version %d, "+
			"not %d. Read it again", a.ID, a.PromptVersion, *in.ExpectedVersion))
	}
	return Unchanged("agent", a.ID, in.ExpectedUpdatedAt, a.UpdatedAt)
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the agent would break a
// bound. A different prompt raises the prompt version.
func (a *Agent) Update(in UpdateAgentInput, now time.Time) error {
	defer touch(&a.UpdatedAt, NextUpdatedAt(a.UpdatedAt, now), a, *a)
	if in.Prompt != nil && *in.Prompt != a.Prompt {
		a.Prompt = *in.Prompt
		a.PromptVersion++
	}
	setIfGiven(&a.Name, in.Name)
	setIfGiven(&a.Channel, in.Channel)
	setIfGiven(&a.Direction, in.Direction)
	setIfGiven(&a.Language, in.Language)
	setIfGiven(&a.IsCallTransferEnabled, in.IsCallTransferEnabled)
	setText(&a.Model, in.Model)
	setText(&a.OutboundWelcomeMessage, in.OutboundWelcomeMessage)
	setText(&a.InboundWelcomeMessage, in.InboundWelcomeMessage)
	if in.Tags != nil {
		a.Tags = in.Tags
	}
	if in.Fields != nil {
		a.Fields = Values(in.Fields)
	}
	if in.ClassificationTags != nil {
		a.ClassificationTags = Values(in.ClassificationTags)
	}
	if in.ExtractedValues != nil {
		a.ExtractedValues = Values(in.ExtractedValues)
	}
	err := a.Validate() // before repeated tags are removed, so that faults have the positions in the input
	a.Tags = Unique(a.Tags)
	return err
}

var (
	language  = regexp.MustCompile(`^[a-z]{2}(-[A-Z]{2})?$`)
	fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
)

// fieldName records a fault if a name is not valid for a field of contacts' data.
func (f *Fields) fieldName(path, name string) {
	if !fieldName.MatchString(name) {
		f.Add(path, "must contain only letters a to z or A to Z, digits, _ and ., and must begin with a letter or _")
	}
}

// Validate returns BAD_INPUT with every bound that the agent breaks.
func (a *Agent) Validate() error {
	var faults Fields
	faults.name("name", a.Name, 255)
	faults.text("prompt", a.Prompt, 1, MaxPromptLength)
	if !language.MatchString(a.Language) {
		faults.Add("language", "must be written as an ISO 639-1 code in small letters, such as en or fr-CA")
	}
	faults.optional("outboundWelcomeMessage", a.OutboundWelcomeMessage, maxWelcomeLength)
	faults.optional("inboundWelcomeMessage", a.InboundWelcomeMessage, maxWelcomeLength)
	if !a.Channel.IsValid() {
		faults.Add("channel", "must be one of Phone, SMS, Web, WhatsApp")
	}
	if !a.Direction.IsValid() {
		faults.Add("direction", "must be Inbound or Outbound")
	}
	if a.Model != nil {
		faults.name("model", *a.Model, MaxModelName)
	}
	faults.names("tags", a.Tags, len(Unique(a.Tags)))
	named(&faults, "fields", a.Fields, func(path string, f AgentField) string {
		faults.fieldName(path+".name", f.Name)
		return f.Name
	})
	named(&faults, "classificationTags", a.ClassificationTags, func(path string, t ClassificationTag) string {
		faults.text(path+".definition", t.Definition, 0, maxDefinition)
		return t.Name
	})
	named(&faults, "extractedValues", a.ExtractedValues, func(path string, v ExtractedValue) string {
		faults.text(path+".definition", v.Definition, 0, maxDefinition)
		if !v.Type.IsValid() {
			faults.Add(path+".type", "must be Text or Nom")
		}
		return v.Name
	})
	return faults.Err()
}

// Validate checks the bounds of a filter.
func (f *AgentFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.names("filter.tags", f.Tags, len(f.Tags))
		faults.optional("filter.nameContains", f.NameContains, 255)
	}
	return faults.Err()
}

// names records the faults in a list of tags, at most maxTags. length is the number of tags that the limit applies to.
func (f *Fields) names(path string, tags []string, length int) {
	if !f.list(path, length, maxTags) {
		return
	}
	for i, tag := range tags {
		if len(*f) < maxTags {
			f.name(fmt.Sprintf("%s.%d", path, i), tag, 100)
		}
	}
}

// named checks a list of value objects with unique names. check records the other faults of one of them, and returns
// its name.
func named[T any](faults *Fields, path string, list []T, check func(path string, value T) string) {
	if !faults.list(path, len(list), maxValueObjects) {
		return
	}
	seen := map[string]bool{}
	for i, v := range list {
		at := fmt.Sprintf("%s.%d", path, i)
		name := check(at, v)
		faults.name(at+".name", name, 100)
		normal := norm.NFC.String(name)
		if seen[normal] {
			faults.Add(at+".name", "must be unique, but %q occurs twice", name)
		}
		seen[normal] = true
	}
}

// Validate checks a new prompt and its note against their bounds.
func (in UpdateAgentPromptInput) Validate() error {
	var faults Fields
	faults.name("prompt", in.Prompt, MaxPromptLength)
	faults.note("note", in.Note)
	return faults.Err()
}

// Validate checks the note of a new prompt, the expected version, and that the prompt is not blank. Stored prompts may
// be blank. The other bounds are checked with the agent that they change.
func (in UpdateAgentInput) Validate() error {
	var faults Fields
	faults.visible("prompt", in.Prompt)
	faults.note("promptNote", in.PromptNote)
	faults.expectedVersion(in.ExpectedVersion)
	return faults.Err()
}

// setIfGiven replaces a value if a new one is given.
func setIfGiven[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

// touch sets the time of the last change if the row differs from before.
func touch[T any](updatedAt *time.Time, now time.Time, row *T, before T) {
	if !reflect.DeepEqual(*row, before) {
		*updatedAt = now
	}
}

// setText replaces an optional text if a new one is given. An empty text clears the field.
func setText(field **string, given *string) {
	if given == nil {
		return
	}
	*field = given
	if *given == "" {
		*field = nil
	}
}

// Trying returns a copy of the agent with the draft prompt. Nothing is saved. Without a draft it returns the agent
// itself.
func (a *Agent) Trying(draft *string) *Agent {
	if draft == nil {
		return a
	}
	tried := *a
	tried.Prompt = *draft
	return &tried
}

// ChatID is the id of the connected knowledge base chat, or empty if there is none.
func (a *Agent) ChatID() string {
	if a.KnowledgeBaseChatID == nil {
		return ""
	}
	return *a.KnowledgeBaseChatID
}
