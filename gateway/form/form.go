// Package form reads bodies of requests: whole ones, and forms that carry files, as multipart/form-data.
package form

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// Limits are the bounds of a form.
type Limits struct {
	// File bounds the sum of the files, in bytes, and Rest the sum of everything else.
	File, Rest int64
	// Pace is the time in which each 256 KiB of the form, or its shorter rest, must arrive; 0 means no limit.
	Pace time.Duration
}

// minPerPace is how many bytes must arrive in the time of Limits.Pace.
const minPerPace = 256 << 10

// TooLargeError is returned when a form exceeds a limit.
type TooLargeError struct{ Limits }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body is larger than the limit of %d bytes for files and %d for the rest", e.File, e.Rest)
}

// ErrMalformed is returned when a body is not a form, or did not arrive whole.
var ErrMalformed = errors.New("the multipart/form-data body is malformed or incomplete")

// ErrTooSlow is returned when a body did not arrive in time.
var ErrTooSlow = errors.New("the body arrived too slowly: use a faster connection, or a smaller file")

// ErrBusy is returned when there is no memory for a body.
var ErrBusy = errors.New("too many large requests of the company are in progress. Nothing was done: try again, or " +
	"send fewer at a time")

// Status returns the HTTP status for an error of Read that clients may see, or 0.
func Status(err error) int {
	switch {
	case errors.As(err, new(*TooLargeError)):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrTooSlow):
		return http.StatusRequestTimeout
	case errors.Is(err, ErrBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrMalformed):
		return http.StatusBadRequest
	}
	return 0
}

// Is reports whether the Content-Type is multipart/form-data.
func Is(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

// Form is a form with its files. The caller must close it.
type Form struct {
	form *multipart.Form
	open []multipart.File
}

// ReadForm keeps 10 MiB of values and headers in memory, in addition to its argument. The argument is negative here, so
// that it keeps the values that a form may have and 64 KiB of headers. It then writes all files to disk.
const additional, headers = 10 << 20, 64 << 10

// Read reads a request's form until the deadline; a zero deadline means none. Its files go to disk. It returns a
// *TooLargeError, ErrTooSlow, ErrBusy or ErrMalformed, or an error of the disk.
func Read(w http.ResponseWriter, r *http.Request, limits Limits, deadline time.Time) (*Form, error) {
	control := http.NewResponseController(w)
	body := &pacedBody{ReadCloser: r.Body, control: control, pace: limits.Pace, deadline: deadline}
	body.expect()
	if r.ContentLength > limits.File+limits.Rest {
		// A client that waits for 100 Continue has sent nothing.
		if !strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
			Discard(body)
		}
		return nil, &TooLargeError{limits}
	}
	r.Body = http.MaxBytesReader(w, body, limits.File+limits.Rest)
	reader, err := r.MultipartReader()
	if err != nil {
		return nil, ErrMalformed
	}
	read, err := reader.ReadForm(limits.Rest + headers - additional)
	if err != nil {
		if body.isLate {
			return nil, ErrTooSlow
		}
		err = reason(err, limits)
		if errors.As(err, new(*TooLargeError)) {
			Discard(body)
		}
		return nil, err
	}
	if !deadline.IsZero() || limits.Pace > 0 {
		// Clear the deadline, which would otherwise cancel the request's context. After a failure the deadline must stay, or
		// net/http would wait for the rest of the body before it responds.
		_ = control.SetReadDeadline(time.Time{})
	}
	f := &Form{form: read}
	var files, rest int64
	for _, headers := range read.File {
		for _, header := range headers {
			files += header.Size
		}
	}
	for _, values := range read.Value {
		for _, value := range values {
			rest += int64(len(value))
		}
	}
	if files > limits.File || rest > limits.Rest {
		f.Close()
		return nil, &TooLargeError{limits}
	}
	return f, nil
}

// pacedBody is a body that must arrive at the pace.
type pacedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	pace     time.Duration
	deadline time.Time
	// arrived counts the bytes that arrived since the pace was last measured.
	arrived int
	// isLate is set once the client was too slow.
	isLate bool
}

// expect sets the read deadline for the next part of the body.
func (b *pacedBody) expect() {
	until := b.deadline
	if b.pace > 0 {
		if next := time.Now().Add(b.pace); until.IsZero() || next.Before(until) {
			until = next
		}
	}
	b.arrived = 0
	if !until.IsZero() {
		_ = b.control.SetReadDeadline(until)
	}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.arrived += n; b.arrived >= minPerPace && err == nil {
		b.expect()
	}
	b.isLate = b.isLate || errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// maxDiscarded bounds the bytes that Discard reads.
const maxDiscarded = 64 << 20

// Discard reads and drops the rest of a body that is too large, at most 64 MiB and until the read deadline. A client
// that is still sending when the connection closes sees the closed connection instead of the response.
func Discard(body io.Reader) { _, _ = io.CopyN(io.Discard, body, maxDiscarded) }

func reason(err error, limits Limits) error {
	var tooLarge *http.MaxBytesError
	var disk *fs.PathError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, multipart.ErrMessageTooLarge):
		return &TooLargeError{limits}
	case errors.Is(err, ErrBusy):
		return ErrBusy
	case errors.As(err, &disk):
		return fmt.Errorf("save an uploaded file: %w", err)
	}
	return ErrMalformed
}

// ReadBody reads a whole body of at most limit bytes, until the read deadline. If that fails, it returns an error for
// the client with its HTTP status.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, status int, _ *model.Error) {
	// Most bodies are short and declare their length. For others the buffer grows as they arrive.
	const few = 16 << 10
	read := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(r.ContentLength, few))))
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		Discard(r.Body)
		return nil, http.StatusRequestEntityTooLarge,
			model.Errorf(model.LimitExceeded, "the body is larger than the limit of %d bytes", tooLarge.Limit)
	case errors.Is(err, ErrBusy):
		return nil, http.StatusServiceUnavailable, model.Errorf(model.Unavailable, "%s", err)
	case err != nil:
		return nil, http.StatusBadRequest, model.Errorf(model.BadInput, "the body is incomplete: send the request again")
	}
	// Clear the deadline, which would otherwise cancel the request's context. After a failure the deadline must stay, or
	// net/http would wait for the rest of the body before it responds.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return read.Bytes(), 0, nil
}

// Value returns the text with the name, or "". If several texts have the name, it returns the last one.
func (f *Form) Value(name string) (value string, given bool) {
	values := f.form.Value[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Names returns the names of the form's texts.
func (f *Form) Names() []string { return slices.Collect(maps.Keys(f.form.Value)) }

// Files returns the names of the form's files.
func (f *Form) Files() []string { return slices.Collect(maps.Keys(f.form.File)) }

// Count returns how many parts have the name.
func (f *Form) Count(name string) int { return len(f.form.Value[name]) + len(f.form.File[name]) }

// Upload returns the file with the name. The result given is false if there is none. Each call returns its own reader.
func (f *Form) Upload(name string) (upload graphql.Upload, given bool, err error) {
	headers := f.form.File[name]
	if len(headers) == 0 {
		return graphql.Upload{}, false, nil
	}
	header := headers[len(headers)-1]
	file, err := header.Open()
	if err != nil {
		return graphql.Upload{}, true, fmt.Errorf("open an uploaded file: %w", err)
	}
	f.open = append(f.open, file)
	return graphql.Upload{
		File: io.NewSectionReader(file, 0, header.Size), Filename: header.Filename, Size: header.Size,
		ContentType: header.Header.Get("Content-Type"),
	}, true, nil
}

// Close closes the files and removes them from disk.
func (f *Form) Close() {
	for _, file := range f.open {
		_ = file.Close()
	}
	_ = f.form.RemoveAll()
}
