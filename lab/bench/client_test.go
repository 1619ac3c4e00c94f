package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAnswersAreReadInEveryFraming(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/chunked":
			for range 3 {
				fmt.Fprintf(w, "%s of %s", strings.Repeat("x", 5000), r.Header.Get("X-Api-Key"))
				w.(http.Flusher).Flush()
			}
		case "/wrong":
			w.WriteHeader(http.StatusTeapot)
		default:
			fmt.Fprintf(w, "%s %s", r.Method, body)
		}
	}))
	t.Cleanup(server.Close)
	a, err := newAsker(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	for _, c := range []struct {
		request request
		want    string
	}{
		{request{method: "GET", path: "/"}, "GET "},
		{request{method: "GET", path: "/chunked", key: "key"}, strings.Repeat(strings.Repeat("x", 5000)+" of key", 3)},
		{request{method: "POST", path: "/", body: []byte("body")}, "POST body"},
	} {
		got, err := a.ask(c.request)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s %s: got %.100q", c.request.method, c.request.path, got)
		}
	}
	if _, err := a.ask(request{method: "GET", path: "/wrong"}); err == nil ||
		!strings.Contains(err.Error(), "status 418") {
		t.Errorf("got %v", err)
	}
	if _, err := a.ask(request{method: "POST", path: "/", body: []byte(`{"errors": []}`)}); err == nil {
		t.Error("an answer that tells of errors passed")
	}
}
