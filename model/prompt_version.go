package model

import (
	"time"

	"github.com/uptrace/bun"
)

// PromptVersion is a current or former prompt of an agent. It never changes.
type PromptVersion struct {
	bun.BaseModel `bun:"table:prompt_versions,alias:prompt_version"`
	Owned

	ID        string `bun:",pk"`
	AgentID   string
	Version   int32
	Prompt    string
	CreatedAt time.Time
	APIKeyID  *string
}

// PromptVersionTestRuns counts the judged runs of an agent's tests with one prompt version.
type PromptVersionTestRuns struct {
	Judged int32
	Passed int32
}

// Cursor returns its position in a list of versions.
func (v *PromptVersion) Cursor() Cursor { return Cursor{v.CreatedAt, v.ID} }
