package observe

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// LogOptions returns the options of a log handler. Errors in the log have no contents: an error with a method LogText
// is logged as its result, and an error of Postgres about a value without its message.
func LogOptions(level slog.Leveler) *slog.HandlerOptions {
	return &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() != slog.KindAny {
			return a // Any would allocate
		}
		if err, isError := a.Value.Any().(error); isError {
			a.Value = slog.StringValue(logText(err))
		}
		return a
	}}
}

// logText returns the text of an error, with the LogText of the errors that it wraps.
func logText(err error) string {
	var wrapped []error
	switch wrapper := err.(type) { //nolint:errorlint // visits the whole tree
	case *pgconn.PgError:
		if strings.HasPrefix(wrapper.Code, "22") { // only errors of this class, data exceptions, quote values
			return withoutContent(wrapper).Error()
		}
	case interface{ Unwrap() []error }:
		wrapped = wrapper.Unwrap()
	default:
		if cause := errors.Unwrap(err); cause != nil {
			wrapped = []error{cause}
		}
	}
	if withheld, ok := err.(interface{ LogText() string }); ok { //nolint:errorlint // visits the whole tree
		text := withheld.LogText()
		for _, cause := range wrapped {
			text += ": " + logText(cause)
		}
		return text
	}
	text := err.Error()
	for _, cause := range wrapped {
		if whole := cause.Error(); whole != "" {
			text = strings.ReplaceAll(text, whole, logText(cause))
		}
	}
	return text
}
