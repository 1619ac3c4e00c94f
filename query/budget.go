package query

import (
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// maxGrown is the length in bytes up to which a response grows as it is written. Each growth copies the response. Both
// copies take memory until the old one is collected. A longer response is measured before it is written.
const maxGrown = 1 << 20

// reserveWritten reserves the bytes written since the last reservation, once there are enough of them.
func (a *response) reserveWritten(dst []byte) []byte {
	const step = 16 << 10
	grown := a.measured + len(dst) - a.accounted
	if grown <= step || a.budget == nil {
		return dst
	}
	a.accounted += grown
	a.reserved += grown
	if err := a.budget.Reserve(grown); err != nil {
		a.err = err
		return a.fallBack(dst)
	}
	if a.isMeasuring = a.isMeasuring || len(dst) > maxGrown && cap(dst) > a.room; a.isMeasuring {
		a.measured += len(dst)
		return dst[:0]
	}
	return dst
}

// releaseMemory releases the reserved bytes when the generated executor answers, because it reserves its own. It keeps
// them if the error is model.ErrTooLarge.
func (a *response) releaseMemory(err error) {
	if a.budget != nil && !errors.Is(err, model.ErrTooLarge) {
		_ = a.budget.Reserve(-a.reserved)
	}
}

// reserveRead reserves the bytes read since the last reservation, once there are enough of them. They count twice: in
// memory until they are written, and in the response.
func (a *response) reserveRead(bytes int) error {
	const step = 16 << 10
	a.accounted += bytes
	if a.unreserved += 2 * bytes; a.unreserved < step || a.budget == nil {
		return nil
	}
	bytes, a.unreserved = a.unreserved, 0
	a.reserved += bytes
	return a.budget.Reserve(bytes)
}
