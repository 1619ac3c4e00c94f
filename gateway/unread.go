package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// What net/http answers by itself, in one write: requests that it cannot read, and expectations that it does not meet.
// Responses of handlers have a Date as well, or a body behind their header.
var (
	unreadResponse = regexp.MustCompile(`^HTTP/1\.1 (\d{3}) [^\r\n]*\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n([^\r\n]*)$`)
	unmetResponse  = regexp.MustCompile(`^HTTP/1\.[01] (417) Expectation Failed\r\n(?:[^\r\n]+\r\n)*()\r\n$`)
)

// mostUnread is more than net/http's own responses have, in bytes.
const mostUnread = 512

// refusalsOfRequests say what is wrong with a request that no handler gets, by the status of the response.
var refusalsOfRequests = map[int]struct {
	code   model.Code
	detail string
}{
	http.StatusBadRequest:                  {model.BadInput, "the request is not valid HTTP"},
	http.StatusExpectationFailed:           {model.BadInput, "the header Expect may only say 100-continue"},
	http.StatusRequestHeaderFieldsTooLarge: {model.LimitExceeded, "the headers are larger than the gateway accepts"},
	http.StatusNotImplemented:              {model.BadInput, "the gateway does not know the Transfer-Encoding"},
	http.StatusHTTPVersionNotSupported:     {model.BadInput, "the gateway does not know this version of HTTP"},
}

// asProblem returns problem details in place of a response that net/http wrote itself, and nil for any other.
func asProblem(response []byte) []byte {
	if len(response) > mostUnread || !bytes.HasPrefix(response, []byte("HTTP/1.")) {
		return nil
	}
	match := unreadResponse.FindSubmatch(response)
	if match == nil {
		match = unmetResponse.FindSubmatch(response)
	}
	if match == nil {
		return nil
	}
	status, err := strconv.Atoi(string(match[1]))
	refusal, isKnown := refusalsOfRequests[status]
	if err != nil || !isKnown {
		return nil
	}
	title, detail := http.StatusText(status), refusal.detail
	if _, reason, hasReason := strings.Cut(string(match[2]), title+": "); hasReason && status == http.StatusBadRequest {
		detail += ": " + reason
	}
	body, err := json.Marshal(struct {
		Type   string     `json:"type"`
		Title  string     `json:"title"`
		Status int        `json:"status"`
		Detail string     `json:"detail"`
		Code   model.Code `json:"code"`
	}{"about:blank", title, status, detail, refusal.code})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", status, title, len(body), body)
}
