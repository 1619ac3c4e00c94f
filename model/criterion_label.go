package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of labels.
const (
	// MaxLabelsOfVerdict bounds the people who label a criterion of a conversation.
	MaxLabelsOfVerdict = 50
	maxLabels          = 100
	maxLabelNote       = 1_000
	maxPerson          = 100
	maxQueued          = 50
	maxQueueOffset     = 10_000
	// nearBorder is the maximum distance of a doubtful score from the score that a run needs: 0.1, with room for rounding
	// errors.
	nearBorder = 0.1 + 1e-9
)

// CriterionLabel is a person's answer to whether a criterion holds in a conversation.
type CriterionLabel struct {
	bun.BaseModel `bun:"table:criterion_labels,alias:criterion_label"`
	Owned

	ID string `bun:",pk"`
	// RunID is the run that held the conversation, and ExecutionID is its execution.
	RunID       string
	ExecutionID string
	// Digest is the hash of the criterion's text.
	Digest    string
	Criterion string
	Person    string
	// Holds is true if the criterion holds or does not apply.
	Holds bool
	// Note is nil or not blank.
	Note *string
	// IsSampled is false if the person chose which verdict to label, instead of taking the next one of the queue.
	IsSampled bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Cursor returns the position of this object in a list of labels.
func (l *CriterionLabel) Cursor() Cursor { return Cursor{l.CreatedAt, l.ID} }

type (
	// CriterionLabelConnection is a page of labels.
	CriterionLabelConnection = Page[*CriterionLabel]
	// CriterionLabelEdge is a label in a page.
	CriterionLabelEdge = Edge[*CriterionLabel]
)

// Validate returns BAD_INPUT with every bound that the labels break, with the index of each label.
func (in LabelCriterionResultsInput) Validate() error {
	var faults Fields
	if len(in.Labels) == 0 {
		faults.Add("labels", "must not be empty")
	}
	faults.list("labels", len(in.Labels), maxLabels)
	for i := range in.Labels[:min(len(in.Labels), maxLabels)] {
		faults.label(fmt.Sprintf("labels.%d.", i), in.Labels[i])
	}
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the label breaks.
func (in LabelCriterionResultInput) Validate() error {
	var faults Fields
	faults.label("", &in)
	return faults.Err()
}

func (f *Fields) label(path string, in *LabelCriterionResultInput) {
	f.text(path+"criterion", in.Criterion, 1, 2_000)
	f.optional(path+"note", in.Note, maxLabelNote)
	f.person(path+"person", in.Person)
	f.oneOfTwo(path+"isRight", "holds", in.IsRight != nil, in.Holds != nil)
}

func (f *Fields) person(path string, name *string) {
	if name != nil {
		f.name(path, *name, maxPerson)
	}
}

// Label returns the label that the input describes. run is the labeled run, and person is the name of the caller. The
// argument conversation is the run that held the conversation. It returns UNPROCESSABLE if the judge did not decide the
// criterion.
func (in LabelCriterionResultInput) Label(path string, run, conversation *AgentTestRun, person string,
	at time.Time) (*CriterionLabel, error) {
	var faults Fields
	i := slices.IndexFunc(run.CriteriaResults, func(r CriterionResult) bool { return r.Criterion == in.Criterion })
	switch {
	case run.Status != AgentTestRunStatusPassed && run.Status != AgentTestRunStatusFailed:
		faults.Add(path+"runId", "names a run that neither passed nor failed")
		return nil, faults.As(Unprocessable)
	case i < 0:
		faults.Add(path+"criterion", "is not one of the criteria that run %q decided", run.ID)
		return nil, faults.As(Unprocessable)
	case run.CriteriaResults[i].ByProgram:
		faults.Add(path+"criterion", "was decided by the program: only verdicts of the judge can be labeled")
		return nil, faults.As(Unprocessable)
	}
	digest := sha256.Sum256([]byte(in.Criterion))
	label := &CriterionLabel{
		ID: NewID("label"), RunID: conversation.ID, ExecutionID: conversation.ExecutionID,
		Digest:    hex.EncodeToString(digest[:]),
		Criterion: in.Criterion, Person: person, IsSampled: in.IsSampled, CreatedAt: at, UpdatedAt: at,
	}
	if in.Person != nil {
		label.Person = strings.TrimSpace(*in.Person)
	}
	if in.Note != nil {
		if note := strings.TrimSpace(*in.Note); note != "" {
			label.Note = &note
		}
	}
	if in.Holds != nil {
		label.Holds = *in.Holds
	} else {
		label.Holds = run.CriteriaResults[i].Passed == *in.IsRight
	}
	return label, nil
}

// CriterionQueueArgs choose the entries of a queue.
type CriterionQueueArgs struct {
	AgentID string
	// Person is nil for the name of the API key.
	Person        *string
	IsBlind       bool
	First, Offset int32
}

// Validate returns BAD_INPUT with every bound that the arguments break.
func (a CriterionQueueArgs) Validate() error {
	var faults Fields
	faults.person("person", a.Person)
	faults.count("first", &a.First, 1, maxQueued)
	faults.count("offset", &a.Offset, 0, maxQueueOffset)
	return faults.Err()
}

// CriterionQueue has the verdicts that a person should label next, and the number of all verdicts in the queue.
type CriterionQueue struct {
	TotalCount int32
	Entries    []*CriterionQueueEntry
}

// CriterionQueueEntry is a verdict that a person should label. The verdict is nil in a blind queue.
type CriterionQueueEntry struct {
	Owned

	RunID, Criterion, Expected string
	Reason                     CriterionQueueReason
	Passed, Applies            *bool
	Rationale                  *string
}

// SetDoubt sets whether people should check the verdict: the judge's votes disagreed, or the score is near the border.
func (r *AgentTestRun) SetDoubt() {
	isDoubtful := r.Score != nil && max(*r.Score-r.Snapshot.Test.passAt(), r.Snapshot.Test.passAt()-*r.Score) <= nearBorder
	for i := range r.CriteriaResults {
		share := r.CriteriaResults[i].Agreement
		isDoubtful = isDoubtful || share != nil && *share < 1
	}
	r.IsDoubtful = &isDoubtful
}
