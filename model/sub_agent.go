package model

import (
	"time"

	"github.com/uptrace/bun"
)

// SubAgent is an edge of the agent graph: the agent may delegate to another one. The graph may be cyclic.
type SubAgent struct {
	bun.BaseModel `bun:"table:sub_agents,alias:sub_agent"`
	Owned

	ID              string `bun:",pk"`
	AgentID         string
	DelegateAgentID string
	Name            string
	TechnicalName   string
	Description     string
	// Position orders the sub-agents of one agent.
	Position  int32
	CreatedAt time.Time
}

// Cursor returns the position of this object in a list of sub-agents.
func (s *SubAgent) Cursor() Cursor { return Cursor{s.CreatedAt, s.ID} }

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the sub-agent would break a
// bound.
func (s *SubAgent) Update(in UpdateSubAgentInput) error {
	setIfGiven(&s.DelegateAgentID, in.DelegateAgentID)
	setIfGiven(&s.Name, in.Name)
	setIfGiven(&s.Description, in.Description)
	var faults Fields
	faults.name("name", s.Name, 255)
	faults.text("description", s.Description, 0, maxDefinition)
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in AddSubAgentInput) Validate() error {
	var faults Fields
	faults.name("name", in.Name, 255)
	faults.newTechnicalName("technicalName", in.TechnicalName)
	faults.optional("description", in.Description, maxDefinition)
	return faults.Err()
}
