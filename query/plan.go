package query

import (
	"sync"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// queryPlan says what to read for an operation, and how to write the response. Any number of requests can share it,
// because only its counters and cached statements change.
type queryPlan struct {
	store *db.Store
	// reads are ordered: each comes after its parent.
	reads []*read
	// fields are the fields of Query. Fields in fallbackFields have no writer, because the generated executor answers
	// them.
	fields         []output[writeKey]
	fallbackFields ast.SelectionSet
	requirements   []requirement
	// selected is the number of values that the operation selects.
	selected int
	// dedicatedRuns is how many of the next runs use their own connection. The other runs share one.
	dedicatedRuns atomic.Int32
	// failing makes sure that only the first rejection by Postgres is logged.
	failing sync.Once
}

// requirement is what the directive @requires of a field demands of the caller.
type requirement struct {
	scope   model.APIKeyScope
	keyOnly bool
}

// permits reports whether the caller may read every field. If not, the generated executor returns the error.
func (p *queryPlan) permits(principal model.Principal) bool {
	for _, n := range p.requirements {
		if !principal.Can(n.scope) || n.keyOnly && principal.IsToken() {
			return false
		}
	}
	return true
}

// output is a field of an object, with the text before its value.
type output[W any] struct {
	head  string
	write W
}

// writeRow writes the value of a field for a row of its read.
type writeRow func(a *response, dst []byte, row int) []byte

// writeKey writes the value for a key of its read. -1 means no key.
type writeKey func(a *response, dst []byte, key int) []byte

// read reads rows that depend on the rows of another read, or on the operation's arguments. It has one statement, or
// two if it also counts all rows.
type read struct {
	index    int
	relation *relation
	// parent is the read whose rows lead here, nil for a field of Query. keyColumn is the index of its column with the
	// key.
	parent    *read
	keyColumn int
	// shares is set if this read has the same keys as its parent, whose rows are read by their own ids.
	shares bool
	// key is the expression for a single key. isLookup is set if the statement itself looks up the key in the single row
	// of its parent. Both statements are then sent together.
	key      pg.Key
	isLookup bool
	// kinds are the kinds of the parent's rows that lead here, nil for all. kindColumn is the index of the column with the
	// kind.
	kinds      map[string]bool
	kindColumn int
	// field has the arguments of the page, or of the field of Query.
	field *ast.Field
	// constantPage is the page if its arguments do not depend on variables.
	constantPage *pg.Part
	// argument is the name of the argument with the key, for a field of Query. Empty for a list of the company.
	argument string
	// mustExist leaves the operation to the generated executor when no row has the key.
	mustExist bool
	columns   []string
	// joins are rows that the same statement reads by joins.
	joins []pg.Join
	// host is the read whose statement joins these rows, under the name alias. Nil for a read with its own statement.
	host  *read
	alias string
	// wantsRows is set if the operation selects the rows of a page, wantsNext if it selects whether another page
	// follows, and wantsTotal if it selects the number of all rows.
	wantsRows, wantsNext, wantsTotal bool
	// statements read the rows of one key, and of several keys.
	statements [2]pg.Statement

	mu    sync.Mutex
	pages map[pg.Shape]pageStatements
}

// pageStatements read a page and count all rows, for one list and for the lists of several parents.
type pageStatements struct{ rows, totals [2]pg.Statement }

// Indexes of statements.
const (
	ofOne     = 0
	ofSeveral = 1
)

// maxShapes bounds the page statements that a read caches, one for each shape of the arguments.
const maxShapes = 32

// column returns the index of a column in the read's rows, and adds the column when it is missing.
func (r *read) column(name string) int {
	if r.host != nil {
		return r.host.column(r.alias + "." + name)
	}
	if len(r.columns) == 0 && r.relation.shape == toOne {
		r.columns = append(r.columns, "id") // rows that are read by id start with their id
	}
	for i, known := range r.columns {
		if known == name {
			return i
		}
	}
	r.columns = append(r.columns, name)
	return len(r.columns) - 1
}

func (r *read) page(store *db.Store, part pg.Part) pageStatements {
	shape := part.Shape()
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.pages[shape]; ok {
		return known
	}
	list := r.relation.list
	made := pageStatements{rows: [2]pg.Statement{store.Page(list, r.key, r.columns, part, r.joins...)}}
	if r.wantsTotal {
		made.totals[ofOne] = store.Total(list, r.key, part.Filter)
	}
	if r.parent != nil {
		made.rows[ofSeveral] = store.Pages(list, r.columns, part, r.joins...)
		if r.wantsTotal {
			made.totals[ofSeveral] = store.Totals(list, part.Filter)
		}
	}
	if r.pages == nil || len(r.pages) >= maxShapes {
		r.pages = map[pg.Shape]pageStatements{}
	}
	r.pages[shape] = made
	return made
}
