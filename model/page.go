package model

import (
	"context"
	"encoding/base64"
	"strings"
	"time"
)

// Bounds of every list.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
)

// PageArgs says which part of a list is wanted.
type PageArgs struct {
	// First is the page size, 1 to 100.
	First int32
	// After continues behind a cursor; Offset skips rows. At most one of them is given.
	After  *string
	Offset *int32
}

// Validate returns BAD_INPUT for a page that cannot be.
func (a PageArgs) Validate() error {
	var faults Fields
	if a.First < 1 || a.First > MaxPageSize {
		faults.Add("first", "must be between 1 and %d", MaxPageSize)
	}
	if a.Offset != nil && *a.Offset < 0 {
		faults.Add("offset", "must not be negative")
	}
	if a.Offset != nil && a.After != nil {
		faults.Add("offset", "must not be given together with after")
	}
	if a.After != nil {
		if _, err := ParseCursor(*a.After); err != nil {
			faults.Add("after", "is not a cursor of this list")
		}
	}
	return faults.Err()
}

// Cursor is a place in a list that is ordered newest first: by time of creation, then by id.
type Cursor struct {
	CreatedAt time.Time
	ID        string
}

// String is the opaque form that clients get.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.CreatedAt.UTC().Format(time.RFC3339Nano) + " " + c.ID))
}

// ParseCursor reads what String wrote.
func ParseCursor(s string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Cursor{}, err
	}
	at, id, _ := strings.Cut(string(raw), " ")
	created, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return Cursor{}, err
	}
	return Cursor{CreatedAt: created, ID: id}, nil
}

// Node is something with an id of its own.
type Node interface {
	IsNode()
	// Cursor is its place in a list of its kind.
	Cursor() Cursor
}

// PageInfo says where a page stands in its list.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// Page is one page of a list. It holds at most MaxPageSize nodes.
type Page[T Node] struct {
	Nodes    []T
	PageInfo PageInfo
	// Count counts the rows of all pages. It is called only when a client asks for it.
	Count func(context.Context) (int32, error)
}

// Edge is one node of a page with its cursor.
type Edge[T Node] struct {
	Node T
}

// NewPage makes the page that args asked for out of the rows that were read for it: up to one more
// than args.First, so that the page knows whether another one follows.
func NewPage[T Node](rows []T, args PageArgs, count func(context.Context) (int32, error)) *Page[T] {
	page := &Page[T]{Nodes: rows, Count: count}
	if len(rows) > int(args.First) {
		page.Nodes = rows[:args.First]
		page.PageInfo.HasNextPage = true
	}
	page.PageInfo.HasPreviousPage = args.After != nil || args.Offset != nil && *args.Offset > 0
	if n := len(page.Nodes); n > 0 {
		start, end := page.Nodes[0].Cursor().String(), page.Nodes[n-1].Cursor().String()
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = &start, &end
	}
	return page
}

// Edges returns the nodes with their cursors.
func (p *Page[T]) Edges() []*Edge[T] {
	edges := make([]*Edge[T], len(p.Nodes))
	for i, node := range p.Nodes {
		edges[i] = &Edge[T]{Node: node}
	}
	return edges
}

// TotalCount returns how many rows all pages hold together.
func (p *Page[T]) TotalCount(ctx context.Context) (int32, error) {
	return p.Count(ctx)
}

// Cursor returns the node's place in its list.
func (e *Edge[T]) Cursor() string {
	return e.Node.Cursor().String()
}

// Connections and edges of the schema, one pair for each noun that is listed.
type (
	AgentConnection             = Page[*Agent]
	AgentEdge                   = Edge[*Agent]
	PromptVersionConnection     = Page[*PromptVersion]
	PromptVersionEdge           = Edge[*PromptVersion]
	ToolConnection              = Page[*Tool]
	ToolEdge                    = Edge[*Tool]
	KnowledgeBaseChatConnection = Page[*KnowledgeBaseChat]
	KnowledgeBaseChatEdge       = Edge[*KnowledgeBaseChat]
	DatasetConnection           = Page[*Dataset]
	DatasetEdge                 = Edge[*Dataset]
	SimulationChatConnection    = Page[*SimulationChat]
	SimulationChatEdge          = Edge[*SimulationChat]
)
