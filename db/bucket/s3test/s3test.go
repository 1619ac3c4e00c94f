// Package s3test starts S3-compatible servers for tests.
package s3test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Key is the access key that servers accept. Start sets it in the environment of the process.
const Key = "test-access-key"

var setKey = sync.OnceFunc(func() {
	_ = os.Setenv("AWS_ACCESS_KEY_ID", Key)
	_ = os.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret-key")
})

// Server is a server with the bucket "documents". It is safe for concurrent use.
type Server struct {
	// Accepts is the only access key that the server accepts. It is Key by default.
	Accepts atomic.Value
	// IsDown makes the server close every connection without a response.
	IsDown atomic.Bool
	// Delay is how long each request takes at least, in nanoseconds.
	Delay atomic.Int64
	// Puts counts the PUT requests with the right key, including those that fail.
	Puts atomic.Int64

	http    *httptest.Server
	backend *s3mem.Backend
}

// Start starts a server, which stops at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	setKey()
	s := &Server{backend: s3mem.New()}
	s.Accepts.Store(Key)
	if err := s.backend.CreateBucket("documents"); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(s.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Duration(s.Delay.Load())):
		case <-r.Context().Done():
		}
		switch {
		case s.IsDown.Load():
			panic(http.ErrAbortHandler)
		case !strings.Contains(r.Header.Get("Authorization"), "Credential="+s.Accepts.Load().(string)+"/"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>")
		default:
			if r.Method == http.MethodPut {
				s.Puts.Add(1)
			}
			s3.ServeHTTP(w, r)
		}
	}))
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(s.http.Close)
	return s
}

// Address returns the address of the bucket, with a prefix such as "/prefix" or "".
func (s *Server) Address(prefix string) string {
	return "s3://documents" + prefix + "?endpoint=" + url.QueryEscape(s.http.URL)
}

// Keys returns the keys of all objects, in order.
func (s *Server) Keys(t testing.TB) []string {
	t.Helper()
	list, err := s.backend.ListBucket("documents", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for _, object := range list.Contents {
		keys = append(keys, object.Key)
	}
	slices.Sort(keys)
	return keys
}
