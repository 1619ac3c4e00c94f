package gateway

import (
	"io"
	"net/http"
	"sync"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/model"
)

// requestMemory counts the bytes of request bodies and messages that are held, from their arrival until the request is
// answered or the message handled. They have a bound in total, and half of it for each company.
type requestMemory struct {
	bound int64

	mu        sync.Mutex
	held      int64
	companies map[string]int64
}

const (
	// maxHeldBodies is how many bodies of the largest size may be held.
	maxHeldBodies = 64
	// smallBody is the size in bytes up to which a body is not counted, so that small requests are always read.
	smallBody = 16 << 10
)

func newRequestMemory(s Settings) *requestMemory {
	return &requestMemory{bound: maxHeldBodies * s.BodyBytes, companies: map[string]int64{}}
}

func (m *requestMemory) take(companyID string, bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held+bytes > m.bound || m.companies[companyID]+bytes > m.bound/2 {
		return false
	}
	m.held += bytes
	m.companies[companyID] += bytes
	return true
}

func (m *requestMemory) free(companyID string, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= bytes
	if m.companies[companyID] -= bytes; m.companies[companyID] == 0 {
		delete(m.companies, companyID)
	}
}

// body returns a body that counts what is read of it, up to a limit: the rest of a form is kept on disk. Reading fails
// with form.ErrBusy if there is no memory for it. The caller must call release once the bytes are no longer needed.
func (m *requestMemory) body(content io.Reader, companyID string, limit int64) *heldBody {
	return &heldBody{Reader: content, memory: m, companyID: companyID, limit: limit}
}

type heldBody struct {
	io.Reader
	// refused is called when there is no memory. It is nil for messages.
	refused           func()
	memory            *requestMemory
	companyID         string
	limit, read, held int64
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if more := min(b.read, b.limit) - smallBody - b.held; more > 0 {
		if !b.memory.take(b.companyID, more) {
			if b.refused != nil {
				b.refused()
			}
			return 0, form.ErrBusy
		}
		b.held += more
	}
	return n, err
}

func (b *heldBody) release() {
	if b.held > 0 {
		b.memory.free(b.companyID, b.held)
		b.held = 0
	}
}

// countBody counts the body of a request. The function release must be called once the request is answered. If the body
// was refused, the client gets the response at once, and release reads the rest of the body until the read deadline: a
// client that still sends when the connection closes would not see the response.
func (s *Server) countBody(w http.ResponseWriter, r *http.Request) (release func()) {
	if r.ContentLength >= 0 && r.ContentLength <= smallBody {
		return func() {}
	}
	content, control, isRefused := r.Body, http.NewResponseController(w), false
	principal, _ := model.PrincipalOf(r.Context())
	body := s.bodies.body(content, principal.CompanyID, s.settings.BodyBytes)
	body.refused = func() {
		isRefused = true
		w.Header().Set("Retry-After", retryAfter)
		w.Header().Set("Connection", "close") // what remains of the body must not be read as the next request
		_ = control.EnableFullDuplex()        // or net/http would read the rest first
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, content}
	return func() {
		body.release()
		if isRefused {
			_ = control.Flush()
			form.Discard(content)
		}
	}
}
