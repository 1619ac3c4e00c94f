package model

import (
	"time"

	"github.com/uptrace/bun"
)

// Company owns everything else. It is the root of tenancy: its id is the company_id of every other row.
type Company struct {
	bun.BaseModel `bun:"table:companies,alias:company"`

	ID        string `bun:",pk"`
	Name      string
	CreatedAt time.Time
}

// NewCompany returns a company with the name, or BAD_INPUT when the name is out of bounds.
func NewCompany(name string, now time.Time) (*Company, error) {
	var faults Fields
	faults.name("name", name, 255)
	return &Company{ID: NewID("company"), Name: name, CreatedAt: now}, faults.Err()
}

// IsNode marks a Node.
func (*Company) IsNode() {}

// Cursor is its place in a list of companies.
func (c *Company) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// Owned says whose a row is. Every row of a company has it, and only the db package reads and writes it.
type Owned struct {
	CompanyID string `bun:",pk" json:"-"`
	// ParentID is set where rows were read for several parents at once: whose row this is.
	ParentID string `bun:",scanonly" json:"-"`

	batch *Batch
}

// IsNode makes rows of companies Nodes.
func (*Owned) IsNode() {}

// OwnBy makes the row the company's.
func (o *Owned) OwnBy(companyID string) { o.CompanyID = companyID }

// Parent returns ParentID.
func (o *Owned) Parent() string { return o.ParentID }

// Row is a row that was read together with others.
type Row interface {
	// Parent is whose row it is, where rows of several parents were read at once.
	Parent() string
	JoinBatch(b *Batch, row any)
	Batch() *Batch
}

// Batch is the rows of one type that one statement read, so that what hangs on one of them can be
// read for all of them at once.
type Batch struct{ Rows []any }

// JoinBatch adds the row to the batch.
func (o *Owned) JoinBatch(b *Batch, row any) {
	o.batch = b
	b.Rows = append(b.Rows, row)
}

// Batch returns the rows that were read together with this one; nil when it was read alone.
func (o *Owned) Batch() *Batch { return o.batch }
