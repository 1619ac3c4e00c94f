package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// problem is the body of every failure: problem details with the GraphQL error code, the trace ID, and the faults by
// the caller's property names.
type problem struct {
	Type     string       `json:"type"`
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`
	Instance string       `json:"instance"`
	Code     model.Code   `json:"code"`
	TraceID  string       `json:"traceId"`
	Errors   model.Fields `json:"errors,omitempty"`
}

var standards = map[int]string{
	http.StatusBadRequest:            "https://tools.ietf.org/html/rfc7231#section-6.5.1",
	http.StatusUnauthorized:          "https://tools.ietf.org/html/rfc7235#section-3.1",
	http.StatusForbidden:             "https://tools.ietf.org/html/rfc7231#section-6.5.3",
	http.StatusNotFound:              "https://tools.ietf.org/html/rfc7231#section-6.5.4",
	http.StatusMethodNotAllowed:      "https://tools.ietf.org/html/rfc7231#section-6.5.5",
	http.StatusNotAcceptable:         "https://tools.ietf.org/html/rfc7231#section-6.5.6",
	http.StatusRequestTimeout:        "https://tools.ietf.org/html/rfc7231#section-6.5.7",
	http.StatusConflict:              "https://tools.ietf.org/html/rfc7231#section-6.5.8",
	http.StatusPreconditionFailed:    "https://tools.ietf.org/html/rfc7232#section-4.2",
	http.StatusRequestEntityTooLarge: "https://tools.ietf.org/html/rfc7231#section-6.5.11",
	http.StatusUnsupportedMediaType:  "https://tools.ietf.org/html/rfc7231#section-6.5.13",
	http.StatusUnprocessableEntity:   "https://tools.ietf.org/html/rfc4918#section-11.2",
	http.StatusTooManyRequests:       "https://tools.ietf.org/html/rfc6585#section-4",
	http.StatusInternalServerError:   "https://tools.ietf.org/html/rfc7231#section-6.6.1",
	http.StatusBadGateway:            "https://tools.ietf.org/html/rfc7231#section-6.6.3",
	http.StatusServiceUnavailable:    "https://tools.ietf.org/html/rfc7231#section-6.6.4",
	http.StatusGatewayTimeout:        "https://tools.ietf.org/html/rfc7231#section-6.6.5",
}

func problemf(status int, code model.Code, format string, args ...any) *problem {
	return &problem{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (t *Transport) problem(err *model.Error) *problem {
	return &problem{Status: t.Status(string(err.Code)), Code: err.Code, Detail: err.Message, Errors: err.Fields}
}

// invalid returns the problem for faulty input, or nil if there is no fault.
func (t *Transport) invalid(faults model.Fields, code model.Code) *problem {
	if len(faults) == 0 {
		return nil
	}
	return t.problem(faultsAs(faults, code))
}

// failure returns the problem for the most severe of an operation's errors, with the names that the route's clients
// use.
func (t *Transport) failure(e *endpoint, spelled map[string]string, errs gqlerror.List) *problem {
	var worst *problem
	for _, err := range errs {
		known := stored.ErrorOf(err)
		if known.Code == model.BadInput && e.errorCode != "" {
			known.Code = e.errorCode
		}
		if named := e.operation.CallerFields(known.Fields, spelled); named != nil && known.Code == model.NotFound {
			known.Fields = named // the message already names what does not exist
		} else if named != nil {
			known = faultsAs(named, known.Code)
		}
		if known.Code == model.NotFound && known.Fields[e.lookup] != nil {
			known.Code = model.BadInput
		}
		p := t.problem(known)
		if known.Fields[expectedUpdatedAt] != nil {
			p = changedSince()
		}
		if worst == nil || p.Status > worst.Status {
			worst = p
		}
	}
	return worst
}

func faultsAs(faults model.Fields, code model.Code) *model.Error {
	var err *model.Error
	errors.As(faults.As(code), &err)
	return err
}

// Refuse writes the gateway's refusal of a request as problem details. The status follows from the error's code.
func (t *Transport) Refuse(w http.ResponseWriter, r *http.Request, err *gqlerror.Error) {
	t.refuse(w, r, t.problem(stored.ErrorOf(err)))
}

func (t *Transport) refuse(w http.ResponseWriter, r *http.Request, p *problem) {
	p.Type, p.Title = standards[p.Status], http.StatusText(p.Status)
	p.Instance, p.TraceID = t.BasePath+r.URL.EscapedPath(), t.TraceID(r.Context())

	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // texts always encode
	h := w.Header()
	if p.Status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", "ApiKey")
	}
	if p.Status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "5")
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body.Bytes())
}
