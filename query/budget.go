package query

import (
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// mostGrown is how long a response may become by growing, in bytes: each time it is moved to where it has more room, it
// is there twice, and what it leaves behind waits to be collected. A longer one is measured before it is kept.
const mostGrown = 1 << 20

// spend charges what was written beyond what was charged, from time to time.
func (a *response) spend(dst []byte) []byte {
	const step = 16 << 10
	grown := a.measured + len(dst) - a.spent
	if grown <= step || a.budget == nil {
		return dst
	}
	a.spent += grown
	a.charged += grown
	if err := a.budget.Spend(grown); err != nil {
		a.err = err
		return a.leave(dst)
	}
	if a.isMeasuring = a.isMeasuring || len(dst) > mostGrown && cap(dst) > a.room; a.isMeasuring {
		a.measured += len(dst)
		return dst[:0]
	}
	return dst
}

// giveBack gives back what the budget was charged when somebody else answers in its place, who spends anew.
func (a *response) giveBack(err error) {
	if a.budget != nil && !errors.Is(err, model.ErrTooLarge) {
		_ = a.budget.Spend(-a.charged)
	}
}

// charge charges what was read, from time to time: twice, since it is held until it is written, and then stands in the
// response too.
func (a *response) charge(bytes int) error {
	const step = 16 << 10
	a.spent += bytes
	if a.unspent += 2 * bytes; a.unspent < step || a.budget == nil {
		return nil
	}
	bytes, a.unspent = a.unspent, 0
	a.charged += bytes
	return a.budget.Spend(bytes)
}
