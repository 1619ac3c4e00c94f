package model

import (
	"context"
	"math"
	"time"
)

// Limits of every list.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
	// MaxOffset is the maximum offset. All skipped rows are read, so deeper pages need a cursor.
	MaxOffset = 10_000
)

type numberedKey struct{}

// WithNumberedPages returns a context in which offsets have no limit, for clients that have page numbers instead of
// cursors.
func WithNumberedPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, numberedKey{}, true)
}

// PageArgs are the arguments that select a page of a list.
type PageArgs struct {
	// First is the page size, 1 to 100, of a page from the beginning of the list. It is 0 for a page from the end.
	First int32
	// After has the cursor before the first row, and Offset the number of rows to skip. At most one of them is set.
	After  *string
	Offset *int32
	// Last is the page size, 1 to 100, of a page that ends at the cursor Before, or at the end of the list.
	Last   *int32
	Before *string
	// OrderBy is the order of a list of agents. It is empty for the default order.
	OrderBy AgentOrder
	// Table is the table of the list, which its cursors are marked with. If it is empty, the cursors of every list by
	// time of creation are valid.
	Table string
}

// NewPageArgs combines the arguments of a list. Absent arguments are nil.
func NewPageArgs(first *int32, after *string, offset, last *int32, before *string) PageArgs {
	args := PageArgs{After: after, Offset: offset, Last: last, Before: before}
	switch {
	case first != nil && *first == 0:
		args.Last = nil // The fault is the size, not the combination with last.
	case first != nil:
		args.First = *first
	case last == nil:
		args.First = DefaultPageSize
	}
	return args
}

// IsBackward reports whether the page is counted from the end.
func (a PageArgs) IsBackward() bool { return a.Last != nil }

// Size returns the maximum number of rows in the page. The arguments must be valid.
func (a PageArgs) Size() int32 {
	if a.IsBackward() {
		return *a.Last
	}
	return a.First
}

// Cursor returns the cursor that the page follows or, if it is counted from the end, precedes. It is nil at either end
// of the list.
func (a PageArgs) Cursor() *string {
	if a.IsBackward() {
		return a.Before
	}
	return a.After
}

// isByTime reports whether the list has the default order, by time of creation.
func (a PageArgs) isByTime() bool { return a.OrderBy == "" || a.OrderBy == AgentOrderCreatedAt }

// Position returns the key of the cursor in the list's order, and its id. The cursor must be present and valid.
func (a PageArgs) Position() (key any, id string) {
	if a.isByTime() {
		cursor, _ := ParseCursor(*a.Cursor())
		return cursor.CreatedAt.Truncate(time.Microsecond), cursor.ID
	}
	cursor, _ := ParseOrderedCursor(*a.Cursor(), a.OrderBy)
	return cursor.Key, cursor.ID
}

// cursorOf returns the node's position in the list, as text.
func (a PageArgs) cursorOf(node Node) string {
	if agent, ok := node.(*Agent); ok && !a.isByTime() {
		return agent.cursorBy(a.OrderBy).String()
	}
	return node.Cursor().In(a.Table).String()
}

// Validate returns BAD_INPUT with every invalid argument.
func (a PageArgs) Validate() error { return a.validate(MaxOffset) }

// ValidateIn is like Validate. In a context with numbered pages, the offset has no limit.
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
		faults.Add("offset", "must be at most 10,000: to read further, give the endCursor of a page as after")
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
	cursor, err := ParseCursor(*text)
	isOfList := err == nil && cursor.isOf(a.Table)
	if !a.isByTime() {
		_, err = ParseOrderedCursor(*text, a.OrderBy)
		isOfList = err == nil
	}
	if !isOfList {
		faults.Add(name, "is not a cursor of this list")
	}
}

// Node is an object with an id.
type Node interface {
	IsNode()
	// Cursor returns the position of this object in a list of its type.
	Cursor() Cursor
}

// PageInfo describes the position of a page in its list.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// Page is one page of a list. It has at most MaxPageSize nodes.
type Page[T Node] struct {
	Nodes    []T
	PageInfo PageInfo
	// Count counts the rows of all pages. It is called only when a client asks for it.
	Count func(context.Context) (int32, error)

	args PageArgs
}

// Edge is a node of a page with its cursor.
type Edge[T Node] struct {
	Node T

	args PageArgs
}

// NewPage returns the page of the arguments. rows are in the order of the list. They include one more row than the page
// if there are further rows in its direction.
func NewPage[T Node](rows []T, args PageArgs, count func(context.Context) (int32, error)) *Page[T] {
	page := &Page[T]{Nodes: TrimExtra(rows, args), Count: count, args: args}
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

// TrimExtra removes the additional row that shows whether there are more.
func TrimExtra[R any](rows []R, args PageArgs) []R {
	extra := max(0, len(rows)-int(args.Size()))
	if args.IsBackward() {
		return rows[extra:]
	}
	return rows[:len(rows)-extra]
}

// Edges returns the nodes of the page with their cursors.
func (p *Page[T]) Edges() []*Edge[T] {
	return Map(p.Nodes, func(node T) *Edge[T] { return &Edge[T]{Node: node, args: p.args} })
}

// TotalCount returns the number of rows in all pages.
func (p *Page[T]) TotalCount(ctx context.Context) (int32, error) {
	return p.Count(ctx)
}

// Cursor returns the node's position in its list, as text.
func (e *Edge[T]) Cursor() string {
	return e.args.cursorOf(e.Node)
}

// GraphQL has no generic types, so the page and the edge of each type have names.
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
