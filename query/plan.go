package query

import (
	"sync"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// plan says how to answer an operation: what to read, and how to write the response from it. It never changes, so any
// number of requests share it.
type plan struct {
	store *db.Store
	// reads are ordered: each comes after its parent.
	reads []*read
	// fields are those of Query; nothing writes those that the generated executor answers, which are the rest.
	fields []output[writeKey]
	rest   ast.SelectionSet
	needs  []need
	// selected counts the values that the operation selects.
	selected int
	// alone is how often it is still to read on a connection of its own.
	alone atomic.Int32
	// failing logs, once, that Postgres does not run it.
	failing sync.Once
}

// need is what @requires asks of the caller.
type need struct {
	scope   model.APIKeyScope
	keyOnly bool
}

// permits reports whether the caller may have every field. If not, the generated executor says so.
func (p *plan) permits(principal model.Principal) bool {
	for _, n := range p.needs {
		if !principal.Can(n.scope) || n.keyOnly && principal.IsToken() {
			return false
		}
	}
	return true
}

// output is a field of an object, with what is before its value.
type output[W any] struct {
	head  string
	write W
}

// writeRow writes what a field is for a row of the read that it was made for.
type writeRow func(a *response, dst []byte, row int) []byte

// writeKey writes what a key of the read that it was made for leads to; -1 is the key of nothing.
type writeKey func(a *response, dst []byte, key int) []byte

// read is a statement of a plan: rows that hang on the rows of another one, or on the operation's arguments.
type read struct {
	index    int
	relation *relation
	// parent is the read whose rows lead here, by the value of the column from; nil for a field of Query.
	parent *read
	from   int
	// shares says that its keys are those of its parent, whose rows are read by their own ids.
	shares bool
	// key is where the statement of one key has it, and isFound that this is not in the Read: it is asked for together
	// with the one row of its parent that has the key.
	key     pg.Key
	isFound bool
	// kinds are the kinds of the parent's rows that lead here, whose column is kind; all of them when nil.
	kinds map[string]bool
	kind  int
	// field has the arguments of a page, or of a field of Query.
	field *ast.Field
	// fixed is the page where the arguments do not depend on variables.
	fixed *pg.Part
	// argument has the key of a field of Query; empty for a list of the company.
	argument string
	// mustExist leaves the operation to the generated executor when no row has the key.
	mustExist bool
	columns   []string
	// joins are rows that are read with these, each of them the one that a row leads to.
	joins []pg.Join
	// host is the read whose statement reads these rows, as alias; nil for a read with a statement of its own.
	host  *read
	alias string
	// wantsRows asks for the rows of a page, wantsNext for whether another page follows, and wantsTotal for the number of
	// all rows of the list.
	wantsRows, wantsNext, wantsTotal bool
	// statements read the rows of one key, and of several.
	statements [2]pg.Statement

	mu    sync.Mutex
	pages map[pg.Shape]pageStatements
}

// pageStatements read a page, and count all rows, of one list, and of those of several parents.
type pageStatements struct{ rows, totals [2]pg.Statement }

// The places of statements.
const (
	ofOne     = 0
	ofSeveral = 1
)

// mostShapes bounds the statements that a read keeps.
const mostShapes = 32

// column returns the place of a column in the read's rows, and adds it when it is missing.
func (r *read) column(name string) int {
	if r.host != nil {
		return r.host.column(r.alias + "." + name)
	}
	if len(r.columns) == 0 && r.relation.shape == toOne {
		r.columns = append(r.columns, "id") // rows that are read by their own ids begin with them
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
	if r.pages == nil || len(r.pages) >= mostShapes {
		r.pages = map[pg.Shape]pageStatements{}
	}
	r.pages[shape] = made
	return made
}
