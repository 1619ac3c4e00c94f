package model

import "time"

// Unchanged returns CONFLICT if an object was last changed at another time than expected. It compares with the
// precision of the API. If expected is nil, it accepts any time.
func Unchanged(typeName, id string, expected *time.Time, changed time.Time) error {
	at := changed.UTC().Truncate(time.Millisecond)
	if expected == nil || expected.Truncate(time.Millisecond).Equal(at) {
		return nil
	}
	fault := Errorf(Conflict, "%s %q was changed by someone else at %s: read it again, and repeat the "+
		"change", typeName, id, at.Format(dateTimeLayout))
	fault.Fields.Add("expectedUpdatedAt", "must be the time of the last change")
	return fault
}

// otherVersion adds to a CONFLICT that the input expectedVersion is not the current version.
func otherVersion(conflict *Error) *Error {
	conflict.Fields.Add("expectedVersion", "must be the current version")
	return conflict
}

// expectedVersion records a fault if no object can have the version.
func (f *Fields) expectedVersion(version *int32) {
	if version != nil && *version < 1 {
		f.Add("expectedVersion", "must be at least 1")
	}
}

// NextUpdatedAt returns now, or the next millisecond after the last change if that is later. So each change has a
// different time in the API, which the input expectedUpdatedAt needs.
func NextUpdatedAt(changed, now time.Time) time.Time {
	if next := changed.Truncate(time.Millisecond).Add(time.Millisecond); now.Before(next) {
		return next
	}
	return now
}
