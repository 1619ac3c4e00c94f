package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of a test.
const (
	MaxTurns     = 30
	maxCriteria  = 30
	maxCriterion = 2_000
	maxScenario  = 10_000
)

// AgentTest is a test of either kind.
type AgentTest interface {
	Node
	IsAgentTest()
	Row() *AgentTestRow
	JoinBatch(*Batch, any)
	Batch() *Batch
	Parent() string
}

// AgentTestRow is the row of a test of either kind. The fields of the other kind are empty.
type AgentTestRow struct {
	bun.BaseModel `bun:"table:agent_tests,alias:agent_test"`
	Owned

	ID       string `bun:",pk"`
	AgentID  string
	FolderID *string
	Kind     AgentTestKind
	Name     string
	// MayRepeatName lets a request that creates or changes the test use the name of another test in the folder. It
	// is not stored.
	MayRepeatName bool `bun:"-" json:"-"`
	// LastRunID is the most recent run, LastRunStatus its state, and LastRunAt when this state last changed.
	LastRunID     *string
	LastRunStatus *AgentTestRunStatus
	LastRunAt     *time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
	// Rows are sets of values. The test runs once with each row, or once if there are no rows.
	Rows []TestRow `bun:"type:json,nullzero"`

	// Fields of a simulation.
	Scenario        string      `bun:",nullzero"`
	Criteria        []string    `bun:"type:jsonb,nullzero"`
	CriteriaWeights []*int32    `bun:"type:json,nullzero"`
	Checks          []TestCheck `bun:"type:json,nullzero"`
	// PassAt is the score that a run needs to pass; nil means 1.
	PassAt *float64
	// JudgeSees is what the judge sees in addition to the conversation.
	JudgeSees []JudgeSight `bun:"type:json,nullzero"`
	// Persona is nil if only the scenario describes the contact.
	Persona *ContactPersona `bun:"type:json"`
	// ContactSays are the fixed texts of the contact's turns. The model writes the turns that are nil.
	ContactSays          []*string     `bun:"type:json,nullzero"`
	MaxTurns             int32         `bun:",nullzero"`
	ConversationMessages []TestMessage `bun:"type:json,nullzero"`
	Variables            JSONObject    `bun:"type:json,nullzero"`
	ToolMocking          *ToolMocking  `bun:"type:jsonb"`

	// Fields of a classification.
	ConversationContext *ConversationContext `bun:"type:json"`
	TagExpected         string               `bun:",nullzero"`
}

// SimulationTest is a test in which a simulated contact talks to the agent. Each success criterion is judged.
type SimulationTest struct{ *AgentTestRow }

// ClassificationTest expects a tag for a given conversation.
type ClassificationTest struct{ *AgentTestRow }

// AgentTestFilter narrows a list of tests. Empty fields add no condition.
type AgentTestFilter struct {
	FolderID string
	// IsAtRoot selects tests without a folder.
	IsAtRoot bool
	Kind     AgentTestKind
	// Fields of the list's argument filter.
	NameContains    *string
	LastRunStatuses []AgentTestRunStatus
	IsFlaky         *bool
}

// NewAgentTestFilter returns the filter of a list's arguments. It returns BAD_INPUT if the folder's id is empty, if the
// arguments name both a folder and the root, or if they break a bound.
func NewAgentTestFilter(folderID *string, atRoot bool, kind *AgentTestKind,
	more *AgentTestFilter) (f AgentTestFilter, err error) {
	var faults Fields
	if more != nil {
		f = *more
		faults.optional("filter.nameContains", f.NameContains, 255)
		faults.list("filter.lastRunStatuses", len(f.LastRunStatuses), len(AllAgentTestRunStatus))
	}
	f.IsAtRoot = atRoot
	if kind != nil {
		f.Kind = *kind
	}
	if folderID != nil {
		f.FolderID = *folderID
		faults.Filter("folderId", folderID)
		if atRoot {
			faults.Add("atRoot", "must not be given together with folderId")
		}
	}
	return f, faults.Err()
}

// AgentTestFailure describes when a test started to fail.
type AgentTestFailure struct {
	// Run is the first failed run after the last passed run. LastPassed is that passed run, or nil.
	Run        *AgentTestRun
	LastPassed *AgentTestRun
}

// PromptVersion is the prompt version with which the test first failed.
func (f *AgentTestFailure) PromptVersion() int32 { return f.Run.PromptVersion }

// TestMessage is a message of a test or of its run.
type TestMessage struct {
	Role      MessageRole `json:"role"`
	Text      string      `json:"text"`
	Timestamp *time.Time  `json:"timestamp,omitempty"`
	// ToolCalls are the calls that the agent made for this answer, before a simulation starts.
	ToolCalls []TestMessageCall `json:"toolCalls,omitempty"`
	// Usage has the tokens, times and cost of the agent's answer. It is nil for other messages, and for answers that an
	// older version of the program stored.
	Usage *AnswerUsage `json:"usage,omitempty"`
}

// TestMessageCall is a call that the agent made before a simulation starts. It has a result or an error.
type TestMessageCall struct {
	TechnicalName string     `json:"technicalName"`
	Arguments     JSONObject `json:"arguments"`
	Result        *string    `json:"result,omitempty"`
	Error         *string    `json:"error,omitempty"`
}

// ConversationContext is a conversation to classify.
type ConversationContext struct {
	Messages []TestMessage `json:"messages"`
	DataBag  JSONObject    `json:"dataBag"`
}

// IsAgentTest marks an AgentTest.
func (*AgentTestRow) IsAgentTest() {}

// Row returns the row.
func (t *AgentTestRow) Row() *AgentTestRow { return t }

// Cursor returns the test's position in a list of tests.
func (t *AgentTestRow) Cursor() Cursor { return Cursor{t.CreatedAt, t.ID} }

// Test returns the test of the row's kind.
func (t *AgentTestRow) Test() AgentTest {
	if t.Kind == AgentTestKindClassification {
		return &ClassificationTest{t}
	}
	return &SimulationTest{t}
}

// NewSimulationTest returns the test that the input describes, with defaults for missing fields. It returns BAD_INPUT
// with every bound that the input breaks. The caller checks whether the folder and the mocks belong to the agent.
func NewSimulationTest(in CreateSimulationTestInput, now time.Time) (*SimulationTest, error) {
	t := &SimulationTest{&AgentTestRow{
		ID: NewID("test"), AgentID: in.AgentID, FolderID: in.FolderID, Kind: AgentTestKindSimulation, CreatedAt: now,
		MayRepeatName: in.MayRepeatName,
		Variables:     JSONObject("{}"), ToolMocking: &ToolMocking{SideEffects: SideEffectsAllow},
		Criteria: []string{}, CriteriaWeights: []*int32{}, Checks: []TestCheck{}, JudgeSees: []JudgeSight{},
		ContactSays: []*string{}, Rows: []TestRow{},
	}}
	return t, t.Update(UpdateSimulationTestInput{
		Name: &in.Name, Scenario: &in.Scenario, Criteria: in.Criteria, CriteriaWeights: in.CriteriaWeights, Checks: in.Checks,
		PassAt: in.PassAt, JudgeSees: in.JudgeSees, Persona: in.Persona, ContactSays: in.ContactSays, MaxTurns: &in.MaxTurns,
		ConversationContext: in.ConversationContext, Variables: in.Variables, ToolMocking: in.ToolMocking, Rows: in.Rows,
	}, now)
}

// Update applies all fields that the input sets, except the folder. It returns BAD_INPUT with every fault if the test
// would break a bound.
func (t *SimulationTest) Update(in UpdateSimulationTestInput, now time.Time) error {
	defer touch(&t.UpdatedAt, NextUpdatedAt(t.UpdatedAt, now), t.AgentTestRow, *t.AgentTestRow)
	t.apply(in)
	var faults Fields
	if in.Rows != nil {
		t.Rows = faults.rows("rows", Values(in.Rows))
	}
	t.check(&faults)
	faults.judgeSights("judgeSees", in.JudgeSees)
	return faults.Err()
}

// apply sets the fields of the input, without its rows.
func (t *SimulationTest) apply(in UpdateSimulationTestInput) {
	setIfGiven(&t.Name, in.Name)
	setIfGiven(&t.Scenario, in.Scenario)
	setIfGiven(&t.MaxTurns, in.MaxTurns)
	if in.Criteria != nil {
		t.Criteria, t.CriteriaWeights = in.Criteria, []*int32{}
	}
	if in.CriteriaWeights != nil {
		t.CriteriaWeights = in.CriteriaWeights
	}
	if in.PassAt != nil {
		t.PassAt = in.PassAt
	}
	if in.Checks != nil {
		t.Checks = Values(in.Checks)
	}
	if in.JudgeSees != nil {
		t.JudgeSees = Unique(in.JudgeSees)
	}
	if in.Persona != nil {
		t.Persona = in.Persona.orNone()
	}
	if in.ContactSays != nil {
		t.ContactSays = in.ContactSays
	}
	if in.ConversationContext != nil || t.ConversationMessages == nil {
		t.ConversationMessages = Values(in.ConversationContext)
	}
	if in.Variables != nil {
		t.Variables = in.Variables.withoutNulls()
	}
	if in.ToolMocking != nil {
		mocking := *in.ToolMocking
		if mocking.SideEffects == "" {
			mocking.SideEffects = SideEffectsAllow
		}
		t.ToolMocking = &mocking
	}
}

func (t *SimulationTest) check(faults *Fields) {
	faults.name("name", t.Name, 255)
	faults.name("scenario", t.Scenario, maxScenario)
	if len(t.Criteria) == 0 && len(t.Checks) == 0 {
		faults.Add("criteria", "must have at least one criterion if there are no checks")
	}
	if faults.list("criteria", len(t.Criteria), maxCriteria) {
		for i, c := range t.Criteria {
			faults.name(fmt.Sprintf("criteria.%d", i), c, maxCriterion)
		}
	}
	faults.weights(t.CriteriaWeights, len(t.Criteria))
	faults.checks("checks", t.Checks)
	faults.number("passAt", t.PassAt, 0, 1)
	faults.persona("persona", t.Persona)
	faults.spoken("contactSays", t.ContactSays)
	faults.count("maxTurns", &t.MaxTurns, 1, MaxTurns)
	faults.startingMessages("conversationContext", t.ConversationMessages)
	faults.values("variables", t.Variables)
	faults.mocking("toolMocking", t.ToolMocking)
}

// NewClassificationTest returns the test that the input describes, or BAD_INPUT with every bound that it breaks. The
// caller checks whether the folder and the tag belong to the agent.
func NewClassificationTest(in CreateClassificationTestInput, now time.Time) (*ClassificationTest, error) {
	t := &ClassificationTest{&AgentTestRow{
		ID: NewID("test"), AgentID: in.AgentID, FolderID: in.FolderID, Kind: AgentTestKindClassification, CreatedAt: now,
		MayRepeatName: in.MayRepeatName,
		Rows:          []TestRow{},
	}}
	return t, t.Update(UpdateClassificationTestInput{
		Name: &in.Name, ConversationContext: in.ConversationContext, TagExpected: &in.TagExpected, Rows: in.Rows,
	}, now)
}

// Update applies all fields that the input sets, except the folder. It returns BAD_INPUT with every fault if the test
// would break a bound.
func (t *ClassificationTest) Update(in UpdateClassificationTestInput, now time.Time) error {
	defer touch(&t.UpdatedAt, NextUpdatedAt(t.UpdatedAt, now), t.AgentTestRow, *t.AgentTestRow)
	setIfGiven(&t.Name, in.Name)
	setIfGiven(&t.TagExpected, in.TagExpected)
	if in.ConversationContext != nil {
		t.ConversationContext = in.ConversationContext
	} else if t.ConversationContext == nil {
		t.ConversationContext = &ConversationContext{}
	}
	t.ConversationContext.DataBag = t.ConversationContext.DataBag.withoutNulls()

	var faults Fields
	if in.Rows != nil {
		t.Rows = faults.rows("rows", Values(in.Rows))
	}
	faults.name("name", t.Name, 255)
	faults.text("tagExpected", t.TagExpected, 1, 100)
	if len(t.ConversationContext.Messages) == 0 {
		faults.Add("conversationContext.messages", "must have at least one message")
	}
	faults.messages("conversationContext.messages", t.ConversationContext.Messages)
	faults.values("conversationContext.dataBag", t.ConversationContext.DataBag)
	return faults.Err()
}

// KnowsTag reports whether the agent has the tag.
func (a *Agent) KnowsTag(name string) bool {
	return slices.ContainsFunc(a.ClassificationTags, func(t ClassificationTag) bool { return t.Name == name })
}
