package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// operation is an operation that must be executed once. Its client sends it again with the same Idempotency-Key until
// it is acknowledged or the client gives up.
type operation struct {
	kind, name string
	phase      *phase
	// doubts counts the attempts with an unknown outcome: the connection broke, or the response was a 5xx.
	doubts  int
	isAcked bool
	refused string
	// recorded counts how often the operation is recorded in Postgres.
	recorded int
}

// maxRecorded returns how often Postgres may have recorded the operation: once for each attempt in doubt, and once for
// the acknowledged attempt. It returns at least 1.
func (o *operation) maxRecorded() int {
	if o.isAcked {
		return 1 + o.doubts
	}
	return max(1, o.doubts)
}

// phase is the time of one fault and of the recovery from it, with the results.
type phase struct {
	name string
	// skipped is the reason why the fault could not be injected.
	skipped string
	started time.Time
	// lastAck is the time of the last acknowledgment. gap is the longest time between two acknowledgments.
	lastAck time.Time
	gap     time.Duration
}

// ledger has all operations. It is safe for concurrent use.
type ledger struct {
	mu         sync.Mutex
	phases     []*phase
	operations []*operation
	// contradictions are errors in Postgres that belong to no single operation, such as work that does not end.
	contradictions []string
	// unreached counts the requests that no replica accepted.
	unreached atomic.Int64
}

func (b *ledger) beginPhase(name string) *phase {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &phase{name: name, started: time.Now(), lastAck: time.Now()}
	b.phases = append(b.phases, s)
	return s
}

func (b *ledger) endPhase(s *phase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.gap = max(s.gap, time.Since(s.lastAck))
}

// begin adds an operation to the current phase.
func (b *ledger) begin(kind, name string) *operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &operation{kind: kind, name: name, phase: b.phases[len(b.phases)-1]}
	b.operations = append(b.operations, o)
	return o
}

func (b *ledger) acknowledge(o *operation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.isAcked = true
	current := b.phases[len(b.phases)-1]
	current.gap = max(current.gap, time.Since(current.lastAck))
	current.lastAck = time.Now()
}

func (b *ledger) doubt(o *operation) {
	if o == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o.doubts++
}

func (b *ledger) refuse(o *operation, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.refused = why
}

// confirmEarlier handles a refusal which says that the operation was already executed. It is expected after an attempt
// in doubt, when the process died before it saved the response. Without such an attempt, it is an error.
func (b *ledger) confirmEarlier(o *operation, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.doubts == 0 {
		o.refused = why
		return
	}
	o.isAcked = true
}

func (b *ledger) current() *phase {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.phases[len(b.phases)-1]
}

// tally counts operations.
type tally struct {
	attempted    int // all operations
	acknowledged int // operations that the program acknowledged
	lost         int // acknowledged operations that Postgres does not have
	doubled      int // repeated records that no attempt in doubt explains
	inDoubt      int // attempts whose outcome the client did not learn
	again        int // repeated records that attempts in doubt explain
}

func (t *tally) add(o *operation) {
	t.attempted++
	t.inDoubt += o.doubts
	if o.isAcked {
		t.acknowledged++
		if o.recorded == 0 {
			t.lost++
		}
	}
	extra := max(0, o.recorded-1)
	doubled := max(0, o.recorded-o.maxRecorded())
	t.doubled += doubled
	t.again += extra - doubled
}

func (t *tally) row(w io.Writer, name, gap string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", name, t.attempted, t.acknowledged, t.lost, t.doubled, t.inDoubt,
		t.again, gap)
}

const heading = "\tattempted\tacknowledged\tlost\tdoubled\tin doubt\tagain\t%s\t\n"

// print writes a table of the faults and a table of the kinds of operations.
func (b *ledger) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "fault"+heading, "longest gap (s)")
	all := tally{}
	for _, s := range b.phases {
		if s.skipped != "" {
			continue
		}
		t := tally{}
		for _, o := range b.operations {
			if o.phase == s {
				t.add(o)
				all.add(o)
			}
		}
		t.row(w, s.name, fmt.Sprintf("%.1f", s.gap.Seconds()))
	}
	all.row(w, "all", "")
	_ = w.Flush()
	for _, s := range b.phases {
		if s.skipped != "" {
			fmt.Fprintf(out, "left out: %s: %s\n", s.name, s.skipped)
		}
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "operation"+heading, "")
	for _, kind := range kinds {
		t := tally{}
		for _, o := range b.operations {
			if o.kind == kind.name {
				t.add(o)
			}
		}
		t.row(w, kind.title, "")
	}
	_ = w.Flush()
	for _, o := range b.operations {
		if o.isAcked && o.recorded == 0 {
			fmt.Fprintf(out, "lost: %s %s, during %q\n", o.kind, o.name, o.phase.name)
		}
		if o.recorded > o.maxRecorded() {
			fmt.Fprintf(out, "doubled: %s %s, during %q, %d times after %d attempts in doubt\n", o.kind, o.name, o.phase.name,
				o.recorded, o.doubts)
		}
		if o.refused != "" {
			fmt.Fprintf(out, "refused: %s %s, during %q: %s\n", o.kind, o.name, o.phase.name, o.refused)
		}
	}
	for _, contradiction := range b.contradictions {
		fmt.Fprintln(out, contradiction)
	}
}

// verdict returns an error if an operation was refused, lost or doubled, or if none was acknowledged.
func (b *ledger) verdict() error {
	all := tally{}
	for _, o := range b.operations {
		all.add(o)
		if o.refused != "" {
			return errors.New("an operation was refused, which no fault explains")
		}
	}
	switch {
	case all.lost > 0 || all.doubled > 0 || len(b.contradictions) > 0:
		return errors.New("something was lost or doubled")
	case all.acknowledged == 0:
		return errors.New("nothing was acknowledged")
	}
	return nil
}
