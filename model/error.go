package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Code is the class of an error that a client can act on. The set is closed: the gateway maps each code to one
// extensions.code and one HTTP status.
type Code string

const (
	// Unauthenticated: no credential, or one that is malformed, unknown, revoked or expired.
	Unauthenticated Code = "UNAUTHENTICATED"
	// Forbidden: the credential is valid, but lacks the scope.
	Forbidden Code = "FORBIDDEN"
	// NotFound: the requested row does not exist in this company.
	NotFound Code = "NOT_FOUND"
	// BadInput: the request is invalid in itself.
	BadInput Code = "BAD_INPUT"
	// Unprocessable: the request is well formed, but conflicts with stored data.
	Unprocessable Code = "UNPROCESSABLE"
	// Conflict: the request is valid, but not in the current state.
	Conflict Code = "CONFLICT"
	// LimitExceeded: larger, deeper or longer than the gateway accepts.
	LimitExceeded Code = "LIMIT_EXCEEDED"
	// RateLimited: too many requests in the current window.
	RateLimited Code = "RATE_LIMITED"
	// BudgetExceeded: the company has used up its budget for the period.
	BudgetExceeded Code = "BUDGET_EXCEEDED"
	// UpstreamFailed: a language model or a tool behind the gateway failed.
	UpstreamFailed Code = "UPSTREAM_FAILED"
	// Unavailable: the gateway cannot answer now; trying again later is safe.
	Unavailable Code = "UNAVAILABLE"
	// Internal: a fault of the gateway itself. Its cause is logged and never shown.
	Internal Code = "INTERNAL"
)

// Error is an error whose text is written for the client. The gateway masks all other errors. Never share an Error
// between requests: create a new one each time.
type Error struct {
	Code    Code
	Message string
	// Fields maps paths in the caller's input ("llmSettings.topP") to faults.
	Fields Fields
}

// Fields lists faults by the path of the field at fault.
type Fields map[string][]string

// Error returns the message. It appends the faults of fields that the message does not mention.
func (e *Error) Error() string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(e.Fields)) {
		if !strings.Contains(e.Message, path) {
			parts = append(parts, path+": "+strings.Join(e.Fields[path], ", "))
		}
	}
	if len(parts) == 0 {
		return e.Message
	}
	return e.Message + " (" + strings.Join(parts, "; ") + ")"
}

// Errorf returns an Error with the code and a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing returns a NOT_FOUND error for the requested type and id. Its text is the same whether the row never existed
// or belongs to another company.
func Missing(typeName, id string) *Error {
	return Errorf(NotFound, "%s %q does not exist", typeName, id)
}

// Add records a fault of the field at path.
func (f *Fields) Add(path, format string, args ...any) {
	if *f == nil {
		*f = Fields{}
	}
	(*f)[path] = append((*f)[path], fmt.Sprintf(format, args...))
}

// AddAll records faults of fields below a path. The path ends with a dot.
func (f *Fields) AddAll(path string, below Fields) {
	for name, texts := range below {
		for _, text := range texts {
			f.Add(path+name, "%s", text)
		}
	}
}

// maxCauses bounds the fields whose faults are in the message of an error.
const maxCauses = 10

// Err returns nil when there is no fault, and otherwise a BAD_INPUT error with all of them. The message has the
// faults of the first ten fields.
func (f Fields) Err() error {
	return f.As(BadInput)
}

// As does the same as Err, with another code.
func (f Fields) As(code Code) error {
	if len(f) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(f))
	causes := make([]string, min(len(paths), maxCauses))
	for i := range causes {
		causes[i] = paths[i] + " " + strings.Join(f[paths[i]], " and ")
	}
	message := strings.Join(causes, "; ")
	if more := len(paths) - len(causes); more > 0 {
		message = fmt.Sprintf("%s; and %d more", message, more)
	}
	return &Error{Code: code, Message: message, Fields: f}
}
