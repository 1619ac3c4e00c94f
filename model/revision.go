package model

import "time"

// Unchanged returns CONFLICT if an object was last changed at another time than expected, in the precision that clients
// see. It accepts every time if expected is nil.
func Unchanged(typeName, id string, expected *time.Time, changed time.Time) error {
	at := changed.UTC().Truncate(time.Millisecond)
	if expected == nil || expected.Truncate(time.Millisecond).Equal(at) {
		return nil
	}
	fault := Errorf(Conflict, "%s %q was changed meanwhile, at %s", typeName, id, at.Format(dateTimeLayout))
	fault.Fields.Add("expectedUpdatedAt", "is not when it was changed last")
	return fault
}

// After returns now, or else the first moment that clients can tell from the last change: expectedUpdatedAt needs that.
func After(changed, now time.Time) time.Time {
	if next := changed.Truncate(time.Millisecond).Add(time.Millisecond); now.Before(next) {
		return next
	}
	return now
}
