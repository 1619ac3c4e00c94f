package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"
)

// provider is a stub of an OpenAI-compatible model provider. As an agent it repeats each message. It also answers as a
// contact and as a judge.
type provider struct {
	*httptest.Server
	// isFaulty makes two thirds of the requests fail, using the failures in turn.
	isFaulty atomic.Bool
	requests atomic.Int64
}

func newProvider() *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	return p
}

// answerTime is how long a successful answer takes.
const answerTime = 200 * time.Millisecond

func (p *provider) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if n := p.requests.Add(1); p.isFaulty.Load() && n%3 != 0 {
		modelFailures[int(n)%len(modelFailures)](w, r)
		return
	}
	if !pause(r.Context(), answerTime) {
		return
	}
	var input struct {
		Messages []struct{ Role, Content string }
	}
	_ = json.Unmarshal(body, &input)
	text := ""
	switch request := string(body); {
	case strings.Contains(request, `"json_schema"`):
		text = `{"evidence":[{"messageIndex":1,"quote":"Heard"}],"rationale":"It was booked.","passed":true,` +
			`"onRole":true,"loops":false,"leaked":false,"completed":true}`
	case strings.Contains(request, "You play a person"):
		text = "I want an appointment."
	default:
		for _, message := range input.Messages {
			if message.Role == "user" {
				text = "Heard " + message.Content
			}
		}
	}
	speak(w, text, "stop")
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// speak sends a text as the last chunk of an answer, with the finish reason.
func speak(w http.ResponseWriter, text, reason string) {
	piece := map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text},
		"finish_reason": reason}}}
	encoded, _ := json.Marshal(piece)
	send(w, "data: "+string(encoded)+"\n\n")
}

func send(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// open has the start of an answer.
const open = `data: {"choices":[{"index":0,"delta":{"content":"I was about to"}}]}` + "\n\n"

// modelFailures are the ways in which a model can fail.
var modelFailures = []http.HandlerFunc{
	status(http.StatusBadRequest),
	status(http.StatusUnauthorized),
	status(http.StatusForbidden),
	status(http.StatusNotFound),
	status(http.StatusRequestEntityTooLarge),
	status(http.StatusTooManyRequests),
	status(http.StatusTooManyRequests, "Retry-After", "1"),
	status(http.StatusTooManyRequests, "Retry-After", "3600"),
	status(http.StatusInternalServerError),
	func(w http.ResponseWriter, _ *http.Request) { // as proxies do
		http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
	},
	status(http.StatusServiceUnavailable),
	status(http.StatusFound, "Location", "http://192.0.2.1/"),
	func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	func(w http.ResponseWriter, r *http.Request) { // silence after the first piece
		send(w, open)
		<-r.Context().Done()
	},
	slowly,
	func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, // closes the connection
	func(w http.ResponseWriter, _ *http.Request) { send(w, open); panic(http.ErrAbortHandler) },
	reset,
	sendsText(open), // without the end of the stream
	sendsText(open[:40]),
	sendsText("data: {\"choices\":[{]}\n\ndata: [DONE]\n\n"),
	sendsText(open + `data: {"error":{"message":"overloaded","type":"server_error"}}` + "\n\n"),
	sendsText(`data: {"choices":[]}` + "\n\ndata: [DONE]\n\n"),
	func(w http.ResponseWriter, _ *http.Request) { speak(w, "", "stop") },
	func(w http.ResponseWriter, _ *http.Request) { speak(w, "This goes", "content_filter") },
	func(w http.ResponseWriter, _ *http.Request) { speak(w, "This does not come to", "length") },
	func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Welcome</html>") },
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"no","type":"error_%d"}}`, code)
	}
}

func sendsText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, text) }
}

func slowly(w http.ResponseWriter, r *http.Request) {
	for i := 0; pause(r.Context(), 100*time.Millisecond); i++ {
		send(w, `data: {"choices":[{"index":0,"delta":{"content":"a "}}]}`+"\n\n")
	}
}

// reset closes the connection with a TCP reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
