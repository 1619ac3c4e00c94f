package model

import (
	"context"
	"math"
)

// Bounds of every list.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
	// MaxOffset is how many rows a page may skip, all of which are read; cursors lead to the others.
	MaxOffset = 10_000
)

type numberedKey struct{}

// WithNumberedPages returns a context in which an offset has no bound, for clients that have page numbers and no
// cursors.
func WithNumberedPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, numberedKey{}, true)
}

// PageArgs says which part of a list is wanted.
type PageArgs struct {
	// First is the page size, 1 to 100, of a page that is counted from the beginning of the list; else 0.
	First int32
	// After continues behind a cursor; Offset skips rows. At most one of them is given.
	After  *string
	Offset *int32
	// Last is the page size, 1 to 100, of a page that is counted from the end of the list, or back from the cursor Before.
	Last   *int32
	Before *string
	// OrderBy is the order of a list of agents; empty for that of the list.
	OrderBy AgentOrder
}

// NewPageArgs combines the arguments of a list, of which nil is absent.
func NewPageArgs(first *int32, after *string, offset, last *int32, before *string) PageArgs {
	args := PageArgs{After: after, Offset: offset, Last: last, Before: before}
	switch {
	case first != nil && *first == 0:
		args.Last = nil // It is the size that is refused.
	case first != nil:
		args.First = *first
	case last == nil:
		args.First = DefaultPageSize
	}
	return args
}

// IsBackward reports whether the page is counted from its end.
func (a PageArgs) IsBackward() bool { return a.Last != nil }

// Size is how many rows the page has at most. The arguments are valid.
func (a PageArgs) Size() int32 {
	if a.IsBackward() {
		return *a.Last
	}
	return a.First
}

// Cursor is what the page begins behind, or ends before; nil for an end of the list.
func (a PageArgs) Cursor() *string {
	if a.IsBackward() {
		return a.Before
	}
	return a.After
}

// isByTime reports whether the list has its own order, which is by time of creation.
func (a PageArgs) isByTime() bool { return a.OrderBy == "" || a.OrderBy == AgentOrderCreatedAt }

// Position returns the key of the cursor in the list's order, and its id. The cursor must be present and valid.
func (a PageArgs) Position() (key any, id string) {
	if a.isByTime() {
		cursor, _ := ParseCursor(*a.Cursor())
		return cursor.CreatedAt, cursor.ID
	}
	cursor, _ := ParseOrderedCursor(*a.Cursor(), a.OrderBy)
	return cursor.Key, cursor.ID
}

// cursorOf returns the node's place in the list.
func (a PageArgs) cursorOf(node Node) string {
	if agent, ok := node.(*Agent); ok && !a.isByTime() {
		return agent.cursorBy(a.OrderBy).String()
	}
	return node.Cursor().String()
}

// Validate returns BAD_INPUT for a page that cannot be.
func (a PageArgs) Validate() error { return a.validate(MaxOffset) }

// ValidateIn is Validate, but in a context with numbered pages the offset has no bound.
func (a PageArgs) ValidateIn(ctx context.Context) error {
	if ctx.Value(numberedKey{}) != nil {
		return a.validate(math.MaxInt32)
	}
	return a.Validate()
}

func (a PageArgs) validate(maxOffset int32) error {
	var faults Fields
	if a.IsBackward() {
		a.validateBackward(&faults)
	} else if a.First < 1 || a.First > MaxPageSize {
		faults.Add("first", "must be between 1 and %d", MaxPageSize)
	}
	if a.Before != nil && !a.IsBackward() {
		faults.Add("before", "must be given together with last")
	}
	if a.Offset != nil && *a.Offset < 0 {
		faults.Add("offset", "must not be negative")
	}
	if a.Offset != nil && *a.Offset > maxOffset {
		faults.Add("offset", "must be at most 10,000: to go further, give the endCursor of a page as after")
	}
	if a.Offset != nil && a.After != nil {
		faults.Add("offset", "must not be given together with after")
	}
	a.validateCursor("after", a.After, &faults)
	a.validateCursor("before", a.Before, &faults)
	return faults.Err()
}

// Validate checks the bounds of a filter.
func (f *NameFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.optional("filter.nameContains", f.NameContains, 255)
	}
	return faults.Err()
}

func (a PageArgs) validateBackward(faults *Fields) {
	if *a.Last < 1 || *a.Last > MaxPageSize {
		faults.Add("last", "must be between 1 and %d", MaxPageSize)
	}
	for name, isGiven := range map[string]bool{"first": a.First != 0, "after": a.After != nil, "offset": a.Offset != nil} {
		if isGiven {
			faults.Add(name, "must not be given together with last")
		}
	}
}

func (a PageArgs) validateCursor(name string, text *string, faults *Fields) {
	if text == nil {
		return
	}
	_, err := ParseCursor(*text)
	if !a.isByTime() {
		_, err = ParseOrderedCursor(*text, a.OrderBy)
	}
	if err != nil {
		faults.Add(name, "is not a cursor of this list")
	}
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

	args PageArgs
}

// Edge is one node of a page with its cursor.
type Edge[T Node] struct {
	Node T

	args PageArgs
}

// NewPage makes the page that args asked for out of the rows that were read for it, in the order of the list: up to one
// more than the page holds, so that the page knows whether there are more rows in its direction.
func NewPage[T Node](rows []T, args PageArgs, count func(context.Context) (int32, error)) *Page[T] {
	page := &Page[T]{Nodes: Within(rows, args), Count: count, args: args}
	hasMore := len(page.Nodes) < len(rows)
	if args.IsBackward() {
		page.PageInfo.HasPreviousPage, page.PageInfo.HasNextPage = hasMore, args.Before != nil
	} else {
		page.PageInfo.HasPreviousPage, page.PageInfo.HasNextPage = args.After != nil || args.Offset != nil &&
			*args.Offset > 0, hasMore
	}
	if n := len(page.Nodes); n > 0 {
		start, end := args.cursorOf(page.Nodes[0]), args.cursorOf(page.Nodes[n-1])
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = &start, &end
	}
	return page
}

// Within leaves out the row that only tells that there are more, of rows that were read for a page.
func Within[R any](rows []R, args PageArgs) []R {
	extra := max(0, len(rows)-int(args.Size()))
	if args.IsBackward() {
		return rows[extra:]
	}
	return rows[:len(rows)-extra]
}

// Edges returns the nodes with their cursors.
func (p *Page[T]) Edges() []*Edge[T] {
	edges := make([]*Edge[T], len(p.Nodes))
	for i, node := range p.Nodes {
		edges[i] = &Edge[T]{Node: node, args: p.args}
	}
	return edges
}

// TotalCount returns how many rows all pages hold together.
func (p *Page[T]) TotalCount(ctx context.Context) (int32, error) {
	return p.Count(ctx)
}

// Cursor returns the node's place in its list.
func (e *Edge[T]) Cursor() string {
	return e.args.cursorOf(e.Node)
}

// GraphQL has no generic types, so each type that is listed names its page and its edge.
type (
	// AgentConnection is a page of agents.
	AgentConnection = Page[*Agent]
	// AuditEventConnection is a page of audit events.
	AuditEventConnection = Page[*AuditEvent]

	// AgentEdge is an agent in a page.
	AgentEdge = Edge[*Agent]
	// AuditEventEdge is an audit event in a page.
	AuditEventEdge = Edge[*AuditEvent]
	// PromptVersionConnection is a page of prompt versions.
	PromptVersionConnection = Page[*PromptVersion]
	// PromptVersionEdge is a prompt version in a page.
	PromptVersionEdge = Edge[*PromptVersion]
	// ToolConnection is a page of tools.
	ToolConnection = Page[*Tool]
	// ToolEdge is a tool in a page.
	ToolEdge = Edge[*Tool]
	// KnowledgeBaseChatConnection is a page of knowledge base chats.
	KnowledgeBaseChatConnection = Page[*KnowledgeBaseChat]
	// KnowledgeBaseChatEdge is a knowledge base chat in a page.
	KnowledgeBaseChatEdge = Edge[*KnowledgeBaseChat]
	// DatasetConnection is a page of datasets.
	DatasetConnection = Page[*Dataset]
	// DatasetEdge is a dataset in a page.
	DatasetEdge = Edge[*Dataset]
	// DocumentConnection is a page of documents.
	DocumentConnection = Page[*Document]
	// DocumentEdge is a document in a page.
	DocumentEdge = Edge[*Document]
	// ChunkConnection is a page of chunks.
	ChunkConnection = Page[*Chunk]
	// ChunkEdge is a chunk in a page.
	ChunkEdge = Edge[*Chunk]
	// AgentTestConnection is a page of tests.
	AgentTestConnection = Page[AgentTest]
	// AgentTestEdge is a test in a page.
	AgentTestEdge = Edge[AgentTest]
	// AgentTestExecutionConnection is a page of executions.
	AgentTestExecutionConnection = Page[*AgentTestExecution]
	// AgentTestExecutionEdge is an execution in a page.
	AgentTestExecutionEdge = Edge[*AgentTestExecution]
	// AgentTestFolderConnection is a page of folders.
	AgentTestFolderConnection = Page[*AgentTestFolder]
	// AgentTestFolderEdge is a folder in a page.
	AgentTestFolderEdge = Edge[*AgentTestFolder]
	// AgentTestRunConnection is a page of runs.
	AgentTestRunConnection = Page[*AgentTestRun]
	// AgentTestRunEdge is a run in a page.
	AgentTestRunEdge = Edge[*AgentTestRun]
	// SimulationChatConnection is a page of simulated chats.
	SimulationChatConnection = Page[*SimulationChat]
	// SimulationChatEdge is a simulated chat in a page.
	SimulationChatEdge = Edge[*SimulationChat]
	// CampaignConnection is a page of campaigns.
	CampaignConnection = Page[*Campaign]
	// CampaignEdge is a campaign in a page.
	CampaignEdge = Edge[*Campaign]
	// CampaignItemConnection is a page of items.
	CampaignItemConnection = Page[*CampaignItem]
	// CampaignItemEdge is an item in a page.
	CampaignItemEdge = Edge[*CampaignItem]
)
