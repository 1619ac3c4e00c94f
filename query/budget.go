package query

import (
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// mostGrown is how long a response may become by growing, in bytes. Each time it grows, it is copied and takes twice
// the memory until the old copy is collected. The length of a longer response is measured before it is written.
const mostGrown = 1 << 20

// spend charges the bytes that were written beyond the charge, from time to time.
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

// giveBack returns the charge to the budget when the generated executor answers, because that charges again.
func (a *response) giveBack(err error) {
	if a.budget != nil && !errors.Is(err, model.ErrTooLarge) {
		_ = a.budget.Spend(-a.charged)
	}
}

// charge charges the bytes that were read, from time to time. They count twice: in memory until they are written, and
// in the response.
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
