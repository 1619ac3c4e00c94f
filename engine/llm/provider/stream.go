package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// eventError is an error event within a stream.
type eventError struct{ data []byte }

func (eventError) Error() string { return "the provider reported an error" }

// errNotJSON is returned for an event that is not a JSON object.
var errNotJSON = errors.New("an event is not a JSON object")

// events reads the data of a stream's events up to its end mark or its end. It sets isMarked at the end mark.
func events(body io.Reader, isMarked *bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var surrogates surrogateJoiner
		stream := &lenient{body: bufio.NewReaderSize(body, streamBuffer)}
		for framed, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if framed.Data == "" {
				continue
			}
			data := surrogates.join([]byte(framed.Data))
			switch *isMarked = strings.HasPrefix(framed.Data, "[DONE]"); {
			case framed.Type == "error":
				err = eventError{data}
			case stream.hasEnded && !*isMarked && !json.Valid(data):
				err = io.ErrUnexpectedEOF
			}
			if *isMarked || !yield(data, err) {
				return
			}
		}
	}
}

// These match the first half of a character at the end of a JSON string, and the second half at the start of one.
var (
	firstHalf  = regexp.MustCompile(`[^\\](\\u[dD][89abAB][0-9a-fA-F]{2})"`)
	secondHalf = regexp.MustCompile(`[^\\]"()\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
)

// surrogateJoiner joins characters whose UTF-16 halves are in two events, as proxies in JavaScript send them.
type surrogateJoiner struct{ first []byte }

// join returns an event's data with the first half of the last event, and without one of its own.
func (j *surrogateJoiner) join(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	if at := secondHalf.FindSubmatchIndex(data); at != nil {
		data, j.first = slices.Insert(data, at[2], j.first...), nil
	}
	if at := firstHalf.FindSubmatchIndex(data); at != nil {
		j.first = bytes.Clone(data[at[2]:at[3]])
		data = slices.Delete(data, at[2], at[3])
	}
	return data
}

// lenient reads a body of events. It completes the last event, which may lack the line break. It turns lines
// "error: {...}" of llama.cpp into events.
type lenient struct {
	body *bufio.Reader
	// inserted is read before the rest of the body.
	inserted         string
	inLine, hasEnded bool
}

func (l *lenient) Read(p []byte) (int, error) {
	if l.inserted == "" {
		next, err := l.body.Peek(1)
		switch {
		case err == io.EOF && !l.hasEnded: //nolint:errorlint // bufio returns io.EOF unwrapped
			l.hasEnded, l.inserted = true, "\n\n"
		case err != nil:
			return 0, err
		case !l.inLine && next[0] == 'e':
			if next, _ = l.body.Peek(len(errorField)); string(next) == errorField {
				_, _ = l.body.Discard(len(errorField))
				l.inserted = "event: error\ndata:"
			}
		}
	}
	if l.inserted != "" {
		n := copy(p, l.inserted)
		l.inserted, l.inLine = l.inserted[n:], true
		return n, nil
	}
	line, _ := l.body.Peek(min(l.body.Buffered(), len(p)))
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end+1]
	}
	n, _ := l.body.Discard(copy(p, line))
	l.inLine = p[n-1] != '\n'
	return n, nil
}

const (
	errorField = "error:"
	// streamBuffer is the size of the pieces in which large events are read. Each piece scans the event again.
	streamBuffer = 32 << 10
)

// failing has the members by which an event reports a failure. The events of all formats contain it.
type failing struct {
	Type   string           `json:"type"`
	Object string           `json:"object"` // "error" in events of vLLM
	Error  *json.RawMessage `json:"error"`
}

func (f *failing) hasFailed() bool { return f.Error != nil || f.Type == "error" || f.Object == "error" }

// decode reads an event. It ignores members of a wrong type, because some compatible servers send them. It returns an
// eventError for an event that reports a failure of the provider.
func decode(data []byte, event interface{ hasFailed() bool }) error {
	var odd *json.UnmarshalTypeError
	if err := json.Unmarshal(data, event); err != nil && (!errors.As(err, &odd) || odd.Field == "") {
		return errNotJSON
	}
	if event.hasFailed() {
		return eventError{data}
	}
	return nil
}
