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

// Cursor returns the position of this object in a list of companies.
func (c *Company) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// Owned contains the company of a row. Every row of a company embeds it.
type Owned struct {
	CompanyID string `bun:",pk" json:"-"`
	// ParentID is the parent of the row if rows were read for several parents at once.
	ParentID string `bun:",scanonly" json:"-"`

	batch *Batch
}

// IsNode makes rows of companies Nodes.
func (*Owned) IsNode() {}

// OwnBy assigns the row to the company.
func (o *Owned) OwnBy(companyID string) { o.CompanyID = companyID }

// Parent returns ParentID.
func (o *Owned) Parent() string { return o.ParentID }

// Row is a row that may belong to a batch.
type Row interface {
	// Parent returns the id of the row's parent, if rows of several parents were read together.
	Parent() string
	JoinBatch(b *Batch, row any)
	Batch() *Batch
}

// Batch has the rows of one type that one statement read. Their dependent rows can be read together.
type Batch struct{ Rows []any }

// JoinBatch adds the row to the batch.
func (o *Owned) JoinBatch(b *Batch, row any) {
	o.batch = b
	b.Rows = append(b.Rows, row)
}

// Batch returns the batch of the row, or nil if the row was read alone.
func (o *Owned) Batch() *Batch { return o.batch }
