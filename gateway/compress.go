package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// minCompressed is the size in bytes from which compression is worth its time.
const minCompressed = 4 << 10

// zippers reuses compressors, because each takes hundreds of kilobytes.
var zippers = sync.Pool{New: func() any {
	zipper, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return zipper
}}

// compress calls the handler next. It compresses large responses that are JSON or the schema, if they have a
// Content-Length. Responses without one are sent while they are made. They are not compressed, because a partial
// response could then look complete.
func (s *Server) compress(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if !s.settings.Compress {
		next(w, r)
		return
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !console.AcceptsGzip(r.Header) {
		next(w, r)
		return
	}
	c := &compressible{ResponseWriter: w}
	next(c, r)
	c.send()
}

// compressible compresses a response that is large enough, and sends it in one piece.
type compressible struct {
	http.ResponseWriter
	// status is 0 before the response has started.
	status int
	// zipper is nil if the response is not compressed.
	zipper *gzip.Writer
	zipped *bytes.Buffer
}

func (w *compressible) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	length, err := strconv.Atoi(w.Header().Get("Content-Length"))
	mediaType, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if err != nil || length < minCompressed || !strings.HasSuffix(mediaType, "json") && mediaType != sdlType {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.zipper, w.zipped = zippers.Get().(*gzip.Writer), bytes.NewBuffer((*buffers.Get().(*[]byte))[:0])
	w.zipper.Reset(w.zipped)
}

func (w *compressible) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.zipper != nil {
		return w.zipper.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *compressible) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *compressible) send() {
	if w.zipper == nil {
		return
	}
	_ = w.zipper.Close() // writing to a buffer cannot fail
	zippers.Put(w.zipper)
	body := w.zipped.Bytes()
	defer putBuffer(&body)
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(body) // a failed write to a client is harmless
}
