package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// leastCompressed is the size, in bytes, from which compression is worth its time.
const leastCompressed = 4 << 10

// newCompression returns what compresses the responses of a handler for clients that accept gzip.
func newCompression() func(http.Handler) http.HandlerFunc {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.EnableZstd(false),
		gzhttp.ContentTypeFilter(gzhttp.CompressAllContentTypeFilter))
	if err != nil {
		panic(err) // the options are constants
	}
	return compress
}

// compressed calls next with a writer that compresses large responses with a Content-Length. Others are sent while they
// are made, and one that breaks off must not end like a whole one, as a gzip stream would.
func (s *Server) compressed(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if !s.settings.Compress {
		next(w, r)
		return
	}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Add("Vary", "Accept-Encoding")
		next(w, r)
		return
	}
	g := &gathered{ResponseWriter: w}
	s.compress(http.HandlerFunc(func(zipped http.ResponseWriter, r *http.Request) {
		next(&compressible{ResponseWriter: w, zipped: zipped}, r)
	})).ServeHTTP(g, r)
	g.send()
}

// compressible writes to zipped if that is worth it.
type compressible struct {
	http.ResponseWriter
	zipped   http.ResponseWriter
	hasBegun bool
}

func (w *compressible) begin() {
	if w.hasBegun {
		return
	}
	w.hasBegun = true
	length, err := strconv.Atoi(w.Header().Get("Content-Length"))
	mediaType, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if err == nil && length >= leastCompressed && (strings.HasSuffix(mediaType, "json") || mediaType == sdlType) {
		w.ResponseWriter = w.zipped
	}
}

func (w *compressible) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *compressible) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *compressible) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// gathered gathers what was compressed, so that it is sent in one piece.
type gathered struct {
	http.ResponseWriter
	buffer *[]byte
	status int
}

func (w *gathered) WriteHeader(status int) { w.status = status }

func (w *gathered) Write(p []byte) (int, error) {
	if w.buffer == nil {
		w.buffer = buffers.Get().(*[]byte)
		*w.buffer = (*w.buffer)[:0]
	}
	*w.buffer = append(*w.buffer, p...)
	return len(p), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gathered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gathered) send() {
	if w.buffer == nil {
		return
	}
	defer giveBack(w.buffer)
	w.Header().Set("Content-Length", strconv.Itoa(len(*w.buffer)))
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	_, _ = w.ResponseWriter.Write(*w.buffer) // if the client has gone, nothing is lost
}
