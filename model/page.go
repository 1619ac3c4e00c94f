package model

import (
	"context"
	"encoding/base64"
	"errors"
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
	// OrderBy is the order of a list of agents; empty for that of the list.
	OrderBy AgentOrder
}

// isByTime reports whether the list has its own order, which is by time of creation.
func (a PageArgs) isByTime() bool { return a.OrderBy == "" || a.OrderBy == AgentOrderCreatedAt }

// Place returns what a row behind After is compared with: the value of what the list is ordered by, and the id. After is
// valid.
func (a PageArgs) Place() (key any, id string) {
	if a.isByTime() {
		cursor, _ := ParseCursor(*a.After)
		return cursor.CreatedAt, cursor.ID
	}
	cursor, _ := ParseOrderedCursor(*a.After, a.OrderBy)
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
		_, err := ParseCursor(*a.After)
		if !a.isByTime() {
			_, err = ParseOrderedCursor(*a.After, a.OrderBy)
		}
		if err != nil {
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

// ParseCursor reads what String wrote, and refuses everything else.
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
	cursor := Cursor{CreatedAt: created, ID: id}
	var faults Fields
	faults.text("id", id, 1, MaxIDLength)
	if faults.Err() != nil || created.Year() < 1 || cursor.String() != s {
		return Cursor{}, errors.New("not a cursor")
	}
	return cursor, nil
}

// OrderedCursor is a place in a list of agents that is not ordered by their time of creation: the value of what they are
// ordered by, as a text, then the id.
type OrderedCursor struct {
	Order   AgentOrder
	Key, ID string
}

// String is the opaque form that clients get.
func (c OrderedCursor) String() string {
	// No name or id has this character.
	return base64.RawURLEncoding.EncodeToString([]byte(string(c.Order) + "\x00" + c.Key + "\x00" + c.ID))
}

// ParseOrderedCursor reads what String wrote of a cursor of the order, and refuses everything else.
func ParseOrderedCursor(s string, order AgentOrder) (OrderedCursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return OrderedCursor{}, err
	}
	parts := strings.Split(string(raw), "\x00")
	if len(parts) != 3 || parts[0] != string(order) {
		return OrderedCursor{}, errors.New("not a cursor of this order")
	}
	cursor := OrderedCursor{Order: order, Key: parts[1], ID: parts[2]}
	var faults Fields
	faults.text("id", cursor.ID, 1, MaxIDLength)
	faults.text("key", cursor.Key, 1, 255)
	if at, err := time.Parse(time.RFC3339Nano, cursor.Key); order == AgentOrderUpdatedAt && (err != nil || at.Year() < 1) {
		faults.Add("key", "is no time")
	}
	if faults.Err() != nil || cursor.String() != s {
		return OrderedCursor{}, errors.New("not a cursor")
	}
	return cursor, nil
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

// NewPage makes the page that args asked for out of the rows that were read for it: up to one more
// than args.First, so that the page knows whether another one follows.
func NewPage[T Node](rows []T, args PageArgs, count func(context.Context) (int32, error)) *Page[T] {
	page := &Page[T]{Nodes: rows, Count: count, args: args}
	if len(rows) > int(args.First) {
		page.Nodes = rows[:args.First]
		page.PageInfo.HasNextPage = true
	}
	page.PageInfo.HasPreviousPage = args.After != nil || args.Offset != nil && *args.Offset > 0
	if n := len(page.Nodes); n > 0 {
		start, end := args.cursorOf(page.Nodes[0]), args.cursorOf(page.Nodes[n-1])
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = &start, &end
	}
	return page
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
