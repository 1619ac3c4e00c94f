package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// serverError is the JSON-RPC code for errors that the implementation defines.
const serverError = -32000

// rpcError is a JSON-RPC error. Data has the gateway's error code, or is nil.
type rpcError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func newError(code int64, err *model.Error) *rpcError {
	return &rpcError{code, err.Message, map[string]any{"code": err.Code}}
}

// write writes the error as the response to the request with the id. id is nil if the request has none.
func (e *rpcError) write(w http.ResponseWriter, status int, id json.RawMessage) {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": e}) // texts and JSON always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Refuse writes the gateway's refusal of a request as a JSON-RPC error. The status follows from the error's code.
func (t *Transport) Refuse(w http.ResponseWriter, _ *http.Request, err *gqlerror.Error) {
	refusal := stored.ErrorOf(err)
	t.refuse(w, t.Status(string(refusal.Code)), refusal)
}

// refuse writes a refusal. Clients show the message, but not Retry-After, so a temporary refusal has both.
func (t *Transport) refuse(w http.ResponseWriter, status int, err *model.Error) {
	refusal := newError(serverError, err)
	if after := w.Header().Get("Retry-After"); after != "" && status == http.StatusServiceUnavailable {
		refusal.Message += " (after " + after + " s)"
	}
	refusal.write(w, status, nil)
}

// maxID is the largest number that every program reads exactly.
const maxID = 1<<53 - 1

// maxEchoed bounds each part of a message that answers repeat, in bytes.
const maxEchoed = 1_000

// echoed has the parts of a message that answers and the protocol library's errors repeat.
type echoed struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI string
		Meta      struct {
			ProgressToken json.RawMessage
			Version       string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

// tooLong returns the name of a part that is too long, or "".
func (e *echoed) tooLong() string {
	for _, part := range []struct {
		name   string
		length int
	}{
		{"id", len(e.ID)}, {"method", len(e.Method)}, {"name", len(e.Params.Name)}, {"uri", len(e.Params.URI)},
		{"progressToken", len(e.Params.Meta.ProgressToken)}, {sdk.MetaKeyProtocolVersion, len(e.Params.Meta.Version)},
	} {
		if part.length > maxEchoed {
			return part.name
		}
	}
	return ""
}

// checkMessage returns the id of a message, nil if there is none, and an error if the body is not one message. Lists of
// messages are refused, because each message must count for the rate limits.
func checkMessage(body []byte) (id json.RawMessage, _ *rpcError) {
	refuse := func(code int64, message string) *rpcError {
		return newError(code, model.Errorf(model.BadInput, "%s", message))
	}
	switch trimmed := bytes.TrimSpace(body); {
	case !utf8.Valid(body):
		return nil, refuse(jsonrpc.CodeParseError, "the request is not UTF-8")
	case !json.Valid(body):
		return nil, refuse(jsonrpc.CodeParseError, "the request is not valid JSON")
	case trimmed[0] == '[':
		return nil, refuse(jsonrpc.CodeInvalidRequest, "the body must be one message, not a list")
	case trimmed[0] != '{':
		return nil, refuse(jsonrpc.CodeInvalidRequest, "the body must be a JSON-RPC message, which is an object")
	}
	var message echoed
	_ = json.Unmarshal(body, &message) // the library reports members of a wrong type
	if name := message.tooLong(); name != "" {
		fault := refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("%s must have at most %d bytes", name, maxEchoed))
		if name == "id" {
			return nil, fault
		}
		return message.ID, fault
	}
	if id = message.ID; len(id) > 0 && id[0] != '"' && string(id) != "null" {
		// The JSON-RPC library converts numbers to int64, and would answer with another id.
		number, err := strconv.ParseFloat(string(id), 64)
		if err != nil || number != math.Trunc(number) || math.Abs(number) > maxID {
			return id, refuse(jsonrpc.CodeInvalidRequest, "the id must be a string, or a whole number of at most 53 bits")
		}
	}
	return id, nil
}

// writer gives the client a limited time to receive each piece of a stream. It turns the protocol library's refusals,
// which are plain text, into JSON-RPC errors.
type writer struct {
	http.ResponseWriter
	timeout time.Duration
	// id is the id of the message, or nil.
	id json.RawMessage
	// refused is the status of a refusal, or 0.
	refused int
}

func (w *writer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	if w.refused == 0 {
		return w.ResponseWriter.Write(p)
	}
	err := &rpcError{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(string(p))}
	if method, isUnknown := strings.CutPrefix(err.Message, "JSON RPC not handled: "); isUnknown {
		err = &rpcError{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " +
			strings.TrimSuffix(method, " unsupported")}
	}
	err.write(w.ResponseWriter, w.refused, w.id)
	return len(p), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
