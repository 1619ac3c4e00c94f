package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	maxRedirects = 3
	// maxExcerpt bounds the quote from the body of an error response, in characters. The quote comes from the first
	// maxExcerptBytes bytes of the body. More bytes are read only to hide a secret that begins in them and ends later.
	maxExcerpt      = 500
	maxExcerptBytes = 16 << 10
)

type exchange struct {
	// callee names the called system in errors.
	callee      string
	client      *http.Client
	maxResponse int64
	secrets     secrets
}

func (x *exchange) newError(cause Cause, err error, format string, args ...any) *Error {
	return &Error{Cause: cause, Message: fmt.Sprintf(format, args...), Err: err}
}

// run sends the request and returns the text of a response with a status 2xx.
func (x *exchange) run(req *http.Request) (string, error) {
	ctx := req.Context()
	res, err := x.client.Do(req)
	if err != nil {
		return "", x.translateError(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	return x.readBody(ctx, res)
}

func (x *exchange) readBody(ctx context.Context, res *http.Response) (string, error) {
	// net/http asks for gzip, decompresses it and removes this header. Other encodings were not requested.
	encoded := !slices.Contains([]string{"", "identity"}, strings.ToLower(res.Header.Get("Content-Encoding")))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		failure := x.newError(Status, nil, "%s answered %s", x.callee,
			strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", http.StatusText(res.StatusCode))))
		failure.retryAfter = read.RetryAfter(res.Header)
		// A status 1xx has no body. Reading one would block forever.
		if !encoded && res.StatusCode >= 200 {
			// An incomplete excerpt is better than none, so an error of the read does not matter.
			most := maxExcerptBytes + x.secrets.longest()
			body, _ := io.ReadAll(io.LimitReader(res.Body, int64(most)))
			failure = failure.quoting(x.excerpt(body, len(body) == most))
		}
		return "", failure
	}
	if encoded {
		return "", x.newError(Malformed, nil, "%s answered in a content encoding that it was not asked for", x.callee)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, x.maxResponse+1))
	mediaType, parameters, invalid := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if invalid != nil {
		mediaType = ""
	}
	decoded := toUTF8(body, parameters["charset"])
	if int64(max(len(body), len(decoded))) > x.maxResponse {
		return "", x.newError(TooLarge, nil, "%s answered with more than %d bytes", x.callee, x.maxResponse)
	}
	if err != nil {
		return "", x.translateError(ctx, err)
	}
	if body = decoded; binaryType.MatchString(mediaType) && !utf8.Valid(body) {
		return "", x.newError(Malformed, nil, "%s answered with neither JSON nor text", x.callee)
	}
	if len(body) > 0 && isJSON(mediaType) && !json.Valid(body) {
		return "", x.newError(Malformed, nil, "%s answered with malformed JSON", x.callee).quoting(x.excerpt(body, false))
	}
	return x.secrets.redact(content.Clean(string(body))), nil
}

// toUTF8 returns a body in UTF-8. It returns the body unchanged if the charset is unknown or the decoder fails.
func toUTF8(body []byte, from string) []byte {
	encoding, name := charset.Lookup(from)
	if encoding == nil || name == "utf-8" {
		return body
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return body
	}
	return decoded
}

// excerpt returns a colon and the beginning of a body, to append to an error message. It returns "" for a blank body.
// isCut is set if the response continues after body.
func (x *exchange) excerpt(body []byte, isCut bool) string {
	whole := content.Clean(string(body))
	most := len(whole)
	if isCut {
		most -= x.secrets.longest()
	}
	shown := x.secrets.redactPrefix(whole, max(0, most))
	text := []rune(strings.TrimSpace(strings.ToValidUTF8(shown, "")))
	if len(text) == 0 {
		return ""
	}
	if len(text) > maxExcerpt {
		text = append(text[:maxExcerpt], '…')
	}
	return ": " + string(text)
}

// binaryType matches media types of which few are text, such as image/svg+xml.
var binaryType = regexp.MustCompile(`^(image|audio|video|font)/|^application/(pdf|zip|gzip)$`)

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// checkRedirect is the CheckRedirect of an http.Client. It hides the endpoint's headers, and its URL as the referrer,
// from other origins.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &Error{Cause: Malformed, Message: fmt.Sprintf("the tool redirects more than %d times", maxRedirects)}
	}
	if !isWeb(req.URL) {
		return &Error{Cause: Refused, Message: "the tool redirects to an address that is not HTTP or HTTPS"}
	}
	// A redirect that another origin chose gets no headers, even if it leads back to the first origin.
	first := origin(via[0].URL)
	if slices.ContainsFunc(append(via[1:], req), func(r *http.Request) bool { return origin(r.URL) != first }) {
		req.Header = newHeader(req.ContentLength != 0)
	}
	return nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }
