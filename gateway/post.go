package gateway

import (
	"mime"
	"net/http"
	"strings"

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
	body, status, err := form.ReadBody(w, r, t.settings.BodyBytes)
	if err != nil {
		x.deny(&fault{status, err})
		return
	}
	if len(body) == 0 {
		x.deny(refusal(http.StatusBadRequest, "the body is empty"))
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
