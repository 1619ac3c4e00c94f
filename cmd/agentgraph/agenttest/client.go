package agenttest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// answerTime bounds a query or a mutation. The server gives up sooner.
	answerTime = time.Minute
	// silentTime is how long an open stream may be silent. The server shows a sign of life every 20 seconds, so a
	// connection without one is as good as lost.
	silentTime = 45 * time.Second
	// maxAnswer bounds one response or one event, in bytes.
	maxAnswer = 64 << 20
)

// serverFlags name a server and a key to it.
type serverFlags struct {
	URL    string `name:"url" env:"AGENTGRAPH_URL" default:"http://127.0.0.1:8080" help:"Address of the server."`
	APIKey string `env:"AGENTGRAPH_API_KEY" required:"" placeholder:"KEY" help:"API key of the company. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_API_KEY_FILE."`
}

// Validate refuses a malformed address and an empty key.
func (f serverFlags) Validate() error {
	address, err := url.Parse(f.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return errors.New("--url must be an address such as https://agents.example.com")
	}
	if address.User != nil {
		return errors.New("--url must hold no password: it is shown, and repeated in reports")
	}
	if strings.TrimSpace(f.APIKey) == "" {
		return errors.New("--api-key or AGENTGRAPH_API_KEY must hold a key")
	}
	return nil
}

func (f serverFlags) client(version string) *client {
	address := strings.TrimRight(f.URL, "/")
	if !strings.HasSuffix(address, "/graphql") {
		address += "/graphql"
	}
	return &client{address: address, agent: "agentgraph/" + version, key: strings.TrimSpace(f.APIKey), http: &http.Client{
		// A redirect could take the key anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// client sends GraphQL requests to a server.
type client struct {
	address, key string
	// agent is the User-Agent header.
	agent string
	http  *http.Client
}

// refusal is an error that the server answered.
type refusal struct {
	status int
	// code is empty if the response did not come from a gateway.
	code    model.Code
	message string
}

func (r *refusal) Error() string { return r.message }

// isTemporary reports whether the same request may succeed later.
func isTemporary(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return true
	}
	switch r.code {
	case model.RateLimited, model.Unavailable, model.Internal, model.UpstreamFailed:
		return true
	case "":
		return r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
	}
	return false
}

func codeOf(err error) model.Code {
	var r *refusal
	if errors.As(err, &r) {
		return r.code
	}
	return ""
}

// variables are the variables of a GraphQL operation.
type variables map[string]any

// ask executes a query or mutation and decodes its data. The error is a *refusal if the server answered.
func (c *client) ask(ctx context.Context, document string, with variables, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	response, err := c.send(ctx, document, with, "application/json")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	data, err := result(response.StatusCode, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// subscribe calls each with the data of every event. It returns nil when the server says that there are no more; any
// other end is an error.
func (c *client) subscribe(ctx context.Context, document string, with variables, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silentTime, func() { cancel(fmt.Errorf("the server was silent for %s", silentTime)) })
	defer silent.Stop()
	response, err := c.send(ctx, document, with, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		_, err := result(response.StatusCode, text)
		return cmp.Or[error](err, &refusal{response.StatusCode, "", "the server did not open a stream of events"})
	}
	name, data := "", []byte(nil)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		silent.Reset(silentTime)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			name = value
		case field == "data":
			data = append(append(data, value...), '\n')
		case lines.Text() != "" || name == "":
		case name == "complete":
			return nil
		case name == "next":
			event, err := result(http.StatusOK, data)
			if err == nil {
				err = each(event)
			}
			if err != nil {
				return err
			}
			name, data = "", nil
		}
	}
	return c.unreachable(cmp.Or(lines.Err(), context.Cause(ctx), errors.New("the connection ended")))
}

func (c *client) send(ctx context.Context, document string, with variables, accept string) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"query": document, "variables": with})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("User-Agent", c.agent)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return response, nil
}

// unreachable names the server and wraps the cause.
func (c *client) unreachable(err error) error {
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	return fmt.Errorf("the server at %s cannot be reached: %w", strings.TrimSuffix(c.address, "/graphql"), err)
}

// result returns the data of a GraphQL response, or its error.
func result(status int, text []byte) (json.RawMessage, error) {
	var response struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct {
				Code   model.Code
				Fields map[string][]string
			}
		}
	}
	err := json.Unmarshal(text, &response)
	if err == nil && len(response.Errors) > 0 {
		first := response.Errors[0]
		return nil, &refusal{status, first.Extensions.Code, withFields(first.Message, first.Extensions.Fields)}
	}
	if err != nil || status != http.StatusOK || len(response.Data) == 0 {
		return nil, &refusal{status, "", fmt.Sprintf("the server answered %d %s and no GraphQL: is its address right?", status, http.StatusText(status))}
	}
	return response.Data, nil
}

// withFields appends the faults by field, unless the message is about a single one.
func withFields(message string, fields map[string][]string) string {
	if len(fields) < 2 {
		return message
	}
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+" "+strings.Join(fields[name], ", "))
	}
	return strings.Join(parts, "; ")
}
