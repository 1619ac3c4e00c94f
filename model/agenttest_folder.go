package model

import (
	"regexp"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/text/unicode/norm"
)

// MaxFolders is the maximum number of folders of one agent.
const MaxFolders = 200

// AgentTestFolder groups the tests of an agent. Folders are flat.
type AgentTestFolder struct {
	bun.BaseModel `bun:"table:agent_test_folders,alias:agent_test_folder"`
	Owned

	ID        string `bun:",pk"`
	AgentID   string
	Name      string
	Color     string
	Body      string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Cursor returns the position of this object in a list of folders.
func (f *AgentTestFolder) Cursor() Cursor { return Cursor{f.CreatedAt, f.ID} }

var color = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// NewAgentTestFolder returns the folder that the input describes, or BAD_INPUT with every bound that it breaks.
func NewAgentTestFolder(in CreateAgentTestFolderInput, now time.Time) (*AgentTestFolder, error) {
	f := &AgentTestFolder{ID: NewID("folder"), AgentID: in.AgentID, CreatedAt: now}
	return f, f.Update(UpdateAgentTestFolderInput{Name: &in.Name, Color: &in.Color, Body: &in.Body}, now)
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the folder would break a
// bound.
func (f *AgentTestFolder) Update(in UpdateAgentTestFolderInput, now time.Time) error {
	defer touch(&f.UpdatedAt, NextUpdatedAt(f.UpdatedAt, now), f, *f)
	if in.Name != nil {
		// Names are unique, so those that look equal must be equal.
		f.Name = norm.NFC.String(*in.Name)
	}
	setIfGiven(&f.Color, in.Color)
	setIfGiven(&f.Body, in.Body)
	var faults Fields
	faults.name("name", f.Name, 100)
	faults.text("body", f.Body, 0, 20_000)
	if !color.MatchString(f.Color) {
		faults.Add("color", "must be a color such as #1A2B3C")
	}
	return faults.Err()
}
