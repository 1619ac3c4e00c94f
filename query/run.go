package query

import (
	"context"
	"slices"
	"sync"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

type response struct {
	plan *queryPlan
	// reader reads on its own connection. Without it, tenant reads on shared connections.
	reader    *pg.Reader
	tenant    *db.Tenant
	budget    model.MemoryBudget
	variables map[string]any
	lookups   []lookup
	// statements are the statements of one round trip. owners has the read that each statement belongs to.
	statements []pg.Read
	owners     []statementOwner
	// isFallback is set if the generated executor must answer.
	isFallback bool
	// unreserved counts the bytes that were read and are not yet reserved. accounted counts the bytes of the response that
	// are reserved.
	unreserved, accounted int
	// reserved is the total of all reservations. err is the budget's error.
	reserved int
	err      error
	// room is the capacity of the response at its start. isMeasuring is set once a long response exceeds it. From then
	// on, bytes are dropped, and measured counts them.
	room, measured int
	isMeasuring    bool
}

var responses = sync.Pool{New: func() any { return &response{} }}

// maxReused bounds the memory that the pool keeps for one read, in bytes of values.
const maxReused = 256 << 10

func newResponse(p *queryPlan, budget model.MemoryBudget, variables map[string]any) *response {
	a := responses.Get().(*response)
	a.plan, a.budget, a.variables = p, budget, variables
	a.isFallback, a.unreserved, a.accounted, a.reserved, a.err = false, 0, 0, 0, nil
	a.room, a.measured, a.isMeasuring = 0, 0, false
	for len(a.lookups) < len(p.reads) {
		a.lookups = append(a.lookups, lookup{})
	}
	for i, r := range p.reads {
		f := &a.lookups[i]
		f.rows.reset(len(r.columns))
		f.part, f.keys, f.isKeyed, f.isSent, f.isRead = pg.Part{}, f.keys[:0], false, false, false
		f.parentRowKeys, f.heads, f.tails, f.counts = f.parentRowKeys[:0], f.heads[:0], f.tails[:0], f.counts[:0]
		f.nextRows, f.rowKeys, f.totals = f.nextRows[:0], f.rowKeys[:0], f.totals[:0]
	}
	return a
}

func (a *response) release() {
	for i := range a.plan.reads {
		f := &a.lookups[i]
		// The keys are slices of the values, whose memory would otherwise stay in use.
		clear(f.keys)
		clear(f.keyIndexes)
		f.rows.large = nil
		if cap(f.rows.data) > maxReused || cap(f.rows.ends) > maxReused/8 {
			*f = lookup{}
		}
	}
	clear(a.statements[:cap(a.statements)])
	a.plan, a.reader, a.tenant, a.budget, a.variables = nil, nil, nil, nil, nil
	responses.Put(a)
}

// fallBack answers the operation with the generated executor.
func (a *response) fallBack(dst []byte) []byte {
	a.isFallback = true
	return dst
}

// write appends the planned fields to dst, and records the end of each relative to start.
func (a *response) write(dst []byte, start int, ends []int) []byte {
	a.room = cap(dst)
	dst = append(dst, '{')
	for i, field := range a.plan.fields {
		if a.isFallback {
			return dst
		}
		if field.write != nil {
			dst = field.write(a, append(dst, field.head...), 0)
		}
		ends[i] = len(dst) - start
	}
	return append(dst, '}')
}

// run answers the operation for the company. After the planned fields, it calls execFallback for the fields that the
// generated executor answers. It returns errUnplanned to leave the whole operation to the generated executor.
func (p *queryPlan) run(ctx context.Context, tenant *db.Tenant, variables map[string]any,
	execFallback func() []byte) (data []byte, err error) {
	a, err := p.readResponse(ctx, tenant, variables)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.releaseMemory(err)
		}
		a.release()
	}()
	buffer := model.BufferOf(ctx)
	if buffer == nil {
		buffer = new([]byte)
	}
	start, ends := len(*buffer), make([]int, len(p.fields))
	dst := a.write(slices.Grow(*buffer, a.size()), start, ends)
	if a.isMeasuring && !a.isFallback {
		length := a.measured + len(dst)
		a.isMeasuring, a.measured = false, 0
		const ending = 16 // the transport appends a few bytes
		dst = a.write(append(make([]byte, 0, length+ending), (*buffer)[:start]...), start, ends)
	}
	if a.isFallback {
		if a.err != nil {
			return nil, a.err
		}
		return nil, errUnplanned
	}
	*buffer = dst
	if len(p.fallbackFields) > 0 {
		return p.merge(dst[start:], ends, execFallback())
	}
	return dst[start:], nil
}

func (p *queryPlan) readResponse(ctx context.Context, tenant *db.Tenant, variables map[string]any) (*response, error) {
	if len(p.reads) == 0 {
		return newResponse(p, model.MemoryBudgetOf(ctx), variables), nil
	}
	if p.isShared() {
		if a, err := p.readShared(ctx, tenant, variables); a != nil || err != nil {
			return a, err
		}
	}
	// Allocate memory after acquiring the connection, so that waiting requests hold none.
	reader, err := tenant.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	a := newResponse(p, model.MemoryBudgetOf(ctx), variables)
	a.reader = reader
	if err = a.bind(); err == nil {
		err = a.readRounds(ctx)
	}
	p.recordRead(a.accounted)
	if err != nil {
		a.releaseMemory(err)
		a.release()
		return nil, err
	}
	return a, nil
}

// merge inserts the generated executor's fields between the planned ones. ends has the positions in planned at which
// the planned fields end.
func (p *queryPlan) merge(planned []byte, ends []int, rest []byte) ([]byte, error) {
	var made reader
	if !made.open(rest, '{') {
		return rest, nil // a non-null field failed, so the whole response is null
	}
	all := make([]byte, 0, len(planned)+len(rest))
	all = append(all, '{')
	for i, start := 0, 1; i < len(ends); i, start = i+1, ends[i] {
		if p.fields[i].write != nil {
			all = append(all, planned[start:ends[i]]...)
			continue
		}
		if !made.member() {
			return nil, errUnplanned
		}
		all = append(append(all, p.fields[i].head...), made.value...)
	}
	return append(all, '}'), nil
}

// size estimates the length of the response in bytes.
func (a *response) size() int {
	size := 256
	for i := range a.plan.reads {
		f := &a.lookups[i]
		size += f.rows.size() + len(f.rows.ends)*8
	}
	return size
}

// statementOwner names the read of a statement, and whether the statement counts rows.
type statementOwner struct {
	read    int
	isTotal bool
}

// bind parses the arguments of the operation.
func (a *response) bind() error {
	for i, r := range a.plan.reads {
		if a.lookups[i].bind(r, a.variables) != nil {
			return errUnplanned // the generated executor reports the error
		}
	}
	return nil
}

// readRounds reads everything in as few round trips as possible.
func (a *response) readRounds(ctx context.Context) error {
	for {
		reads, under := a.statements[:0], a.owners[:0]
		for i, r := range a.plan.reads {
			f := &a.lookups[i]
			if f.isSent || !a.resolveKeys(r) {
				continue
			}
			f.isSent = true
			if len(f.keys) == 0 && !r.isOfCompany() {
				f.isRead = true
				continue
			}
			f.open(r)
			reads, under = r.prepare(a, reads, under)
		}
		if a.statements, a.owners = reads, under; len(reads) == 0 {
			return nil
		}
		if err := a.send(ctx); err != nil {
			return err
		}
		for _, s := range under {
			f := &a.lookups[s.read]
			if f.isRead = true; a.plan.reads[s.read].mustExist && len(f.rowKeys) == 0 {
				return errUnplanned
			}
		}
	}
}

// send runs the prepared statements in one round trip.
func (a *response) send(ctx context.Context) error {
	receive := func(n int, values [][]byte) error {
		s := a.owners[n]
		f := &a.lookups[s.read]
		if s.isTotal {
			place := 0
			if len(values) > 1 {
				place, values = int(integerOf(values[0]))-1, values[1:]
			}
			f.totals[place] = integerOf(values[0])
			return nil
		}
		return a.takeRows(f, a.plan.reads[s.read], values)
	}
	if a.reader == nil {
		return a.tenant.ReadShared(ctx, a.statements, receive)
	}
	return a.reader.Read(ctx, a.statements, receive)
}

// isOfCompany reports whether the read is a list of all rows of the company, which has no keys.
func (r *read) isOfCompany() bool { return r.parent == nil && r.argument == "" }

// prepare adds the statements of a read whose keys are known.
func (r *read) prepare(a *response, reads []pg.Read, under []statementOwner) ([]pg.Read, []statementOwner) {
	f := &a.lookups[r.index]
	read, count := pg.Read{Keys: f.keys, IsOne: len(f.keys) == 1}, ofSeveral
	if read.IsOne || r.isOfCompany() {
		count = ofOne
	}
	if r.isOfCompany() {
		read.Keys = nil
	}
	if shape := r.relation.shape; shape == toOne || shape == toMany {
		read.Statement = r.statements[count]
		return append(reads, read), append(under, statementOwner{read: r.index})
	}
	f.part.AndNext = r.wantsNext
	statements := r.page(a.plan.store, f.part)
	read.Part = f.part
	if r.wantsRows {
		read.Statement = statements.rows[count]
		reads, under = append(reads, read), append(under, statementOwner{read: r.index})
	}
	if r.wantsTotal {
		read.Statement, read.IsTotal = statements.totals[count], true
		reads, under = append(reads, read), append(under, statementOwner{r.index, true})
	}
	return reads, under
}

// resolveKeys collects the keys of a read, and reports whether they are known yet.
func (a *response) resolveKeys(r *read) bool {
	f := &a.lookups[r.index]
	if f.isKeyed || r.parent == nil {
		return true
	}
	parent := &a.lookups[r.parent.index]
	if r.shares || r.isLookup {
		if !parent.isKeyed {
			return false
		}
		f.isKeyed, f.keys = true, append(f.keys, parent.keys...)
		return true
	}
	if parent.isRead {
		f.collect(r, parent)
	}
	return parent.isRead
}
