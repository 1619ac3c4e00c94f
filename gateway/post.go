package gateway

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/gateway/form"
)

// postTransport serves operations of any kind from a JSON body or a form with files.
type postTransport struct{ *Server }

func (postTransport) Supports(r *http.Request) bool { return r.Method == http.MethodPost }

func (t postTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x := exchange{Server: t.Server, w: w, r: r, exec: exec, accept: negotiate(r.Header)}
	if x.accept.isEmpty() {
		x.notAcceptable()
		return
	}
	if form.Is(r.Header) {
		x.multipart()
		return
	}
	if f := checkContent(r.Header); f != nil {
		x.deny(f)
		return
	}
	body, f := t.readBody(w, r)
	if f != nil {
		x.deny(f)
		return
	}
	if isBatch(body) {
		x.batch(body)
		return
	}
	params, f := x.decode(body)
	if f != nil {
		x.deny(f)
		return
	}
	x.run(params)
}

// checkContent refuses any body except plain JSON in UTF-8. A page of another site could send other types, such as
// forms, without a preflight request.
func checkContent(h http.Header) *fault {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refusal(http.StatusUnsupportedMediaType, "the body must not be compressed")
	}
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != jsonType {
		return refusal(http.StatusUnsupportedMediaType, "the body must be %s", jsonType)
	}
	if charset, found := parameters["charset"]; found && !strings.EqualFold(charset, "utf-8") {
		return refusal(http.StatusUnsupportedMediaType, "the body must be in utf-8")
	}
	return nil
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *fault) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.settings.RequestTimeout))
	// Most bodies are short and declare their length. For others the buffer grows as they arrive.
	const few = 16 << 10
	read := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(r.ContentLength, few))))
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, s.settings.BodyBytes))
	body := read.Bytes()
	if err == nil {
		// Clear the deadline, which would otherwise cancel the request's context. After a failure the deadline must stay, or
		// net/http would wait for the rest of the body before it responds.
		_ = control.SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		form.Discard(r.Body)
		return nil, refusal(http.StatusRequestEntityTooLarge, "the body is larger than the limit of %d bytes", tooLarge.Limit)
	case errors.Is(err, form.ErrBusy):
		return nil, refusal(http.StatusServiceUnavailable, "%s", err)
	case err != nil:
		return nil, refusal(http.StatusBadRequest, "the body is incomplete: send the request again")
	case len(body) == 0:
		return nil, refusal(http.StatusBadRequest, "the body is empty")
	}
	return body, nil
}
