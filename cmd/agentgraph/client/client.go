// Package client is a client of the API. It finds the server that a command line names, sends requests, receives
// events, and maps errors to exit codes. Start reading at Flags and Client.
package client

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
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// answerTimeout bounds a query or a mutation. The server's own timeout is shorter.
	answerTimeout = time.Minute
	// silenceTimeout is how long an open stream may be silent. The server sends a keep-alive every 20 seconds, so a longer
	// silence means that the connection is lost.
	silenceTimeout = 45 * time.Second
	// maxAnswer bounds a response or an event, in bytes.
	maxAnswer = 64 << 20
	// maxPage is the maximum number of nodes in a page.
	maxPage = 100
)

// Client sends GraphQL requests to a server.
type Client struct {
	address, key string
	// agent is the User-Agent header.
	agent string
	http  *http.Client
	// patience is how long a request is retried.
	patience time.Duration
	// awaitsServer is set to retry even while there is no connection.
	awaitsServer bool
	// log receives one line if a request is retried for some seconds.
	log       io.Writer
	isRetried sync.Once
}

// Variables are the variables of a GraphQL operation.
type Variables map[string]any

// PageInfo describes the end of a page.
type PageInfo struct {
	HasNextPage bool
	EndCursor   *string
}

// Server returns the address of the server.
func (c *Client) Server() string { return c.address }

// Request is a GraphQL operation.
type Request struct {
	Query     string    `json:"query"`
	Variables Variables `json:"variables,omitempty"`
	// OperationName selects an operation if the document has several.
	OperationName string `json:"operationName,omitempty"`
}

// Query executes a query, or a mutation that has the same effect when it is repeated, and decodes its data. It retries
// after temporary errors. The error is a *refusal if the server answered.
func (c *Client) Query(ctx context.Context, document string, with Variables, into any) error {
	return c.Retry(ctx, func() error {
		data, _, err := c.Execute(ctx, Request{Query: document, Variables: with})
		if err != nil {
			return err
		}
		return decode(data, into)
	})
}

// Execute executes a query or mutation once. It returns the data and the unchanged response, even if the response has
// errors. Without a response, the result response is nil.
func (c *Client) Execute(ctx context.Context, request Request) (data, response json.RawMessage, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, nil, err
	}
	status, answered, text, err := c.exchange(ctx, body, http.Header{})
	if err != nil {
		return nil, nil, err
	}
	data, err = result(status, answered, text)
	return data, text, err
}

// ReadAll returns the nodes of all pages. It stops after the number of nodes in limit, unless limit is 0. The document
// declares the variable $after, and gives its list the alias page.
func ReadAll[T any](ctx context.Context, c *Client, document string, with Variables, limit int) ([]T, error) {
	with, all := maps.Clone(with), []T{}
	for page := (PageInfo{HasNextPage: true}); page.HasNextPage && (limit == 0 || len(all) < limit); {
		with["after"] = page.EndCursor
		if limit > 0 {
			with["first"] = min(limit-len(all), maxPage)
		}
		var read struct {
			Page struct {
				Nodes    []T
				PageInfo PageInfo
			}
		}
		if err := c.Query(ctx, document, with, &read); err != nil {
			return nil, err
		}
		all, page = append(all, read.Page.Nodes...), read.Page.PageInfo
	}
	return all, nil
}

// exchange sends a request, and returns the status, headers and body of the response.
func (c *Client) exchange(ctx context.Context, body []byte, header http.Header) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	header.Set("Accept", "application/json")
	response, err := c.Send(ctx, "/graphql", body, header)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, nil, nil, c.unreachable(cmp.Or(context.Cause(ctx), err))
	}
	return response.StatusCode, response.Header, text, nil
}

// Subscribe calls each with the data of every event. It returns nil when the server completes the stream. If the stream
// ends in any other way, it returns an error.
func (c *Client) Subscribe(ctx context.Context, request Request, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silenceTimeout, func() {
		cancel(fmt.Errorf("the server sent nothing for %s", silenceTimeout))
	})
	defer silent.Stop()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	response, err := c.Send(ctx, "/graphql", body, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		_, err := result(response.StatusCode, response.Header, text)
		return cmp.Or[error](err, &refusal{status: response.StatusCode,
			message: "the server did not open a stream of events"})
	}
	name, data := "", []byte(nil)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		silent.Reset(silenceTimeout)
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
			event, err := result(http.StatusOK, response.Header, data)
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

// Send posts a body to a path of the server, as JSON unless the header has another content type. The caller closes the
// response's body.
func (c *Client) Send(ctx context.Context, path string, body []byte, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	request.Header.Set("Content-Type", cmp.Or(header.Get("Content-Type"), "application/json"))
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("User-Agent", c.agent)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(cmp.Or(context.Cause(ctx), err))
	}
	return response, nil
}

// withFields lists the errors of all fields, unless there is only one: then the message already names it.
func withFields(message string, fields map[string][]string) string {
	if len(fields) < 2 {
		return message
	}
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+" "+strings.Join(fields[name], " and "))
	}
	return strings.Join(parts, "; ")
}

// File is a file that a mutation uploads.
type File struct {
	// Variable is the path of the upload variable, such as "variables.input.upload".
	Variable string
	Name     string
	Content  []byte
}

// Mutate executes a mutation and decodes its data. It retries after temporary errors, with an idempotency key: so the
// mutation is executed once. The server executes it even if ctx ends. file may be nil.
func (c *Client) Mutate(ctx context.Context, document string, with Variables, file *File, into any) error {
	body, contentType, err := encode(document, with, file)
	if err != nil {
		return err
	}
	key := uuid.NewString()
	return c.Retry(ctx, func() error { return c.mutateOnce(ctx, key, body, contentType, into) })
}

func (c *Client) mutateOnce(ctx context.Context, key string, body []byte, contentType string, into any) error {
	status, answered, text, err := c.exchange(ctx, body, http.Header{
		"Content-Type": {contentType}, "Idempotency-Key": {key},
		// The server refuses forms without this header, because other sites could send them.
		"X-Requested-By": {"agentgraph"},
	})
	if err != nil {
		return err
	}
	if status == http.StatusConflict && answered.Get("Retry-After") != "" {
		return &refusal{status, model.Unavailable, "the request is still in progress", retryAfter(answered)}
	}
	data, err := result(status, answered, text)
	if err != nil {
		return err
	}
	return decode(data, into)
}

// encode returns the body of a request and its content type. With a file, the body is a multipart form.
func encode(document string, with Variables, file *File) (body []byte, contentType string, err error) {
	operation, err := json.Marshal(map[string]any{"query": document, "variables": with})
	if err != nil || file == nil {
		return operation, "application/json", err
	}
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	// Writes to memory cannot fail.
	_ = form.WriteField("operations", string(operation))
	_ = form.WriteField("map", fmt.Sprintf(`{"0":[%q]}`, file.Variable))
	part, _ := form.CreateFormFile("0", file.Name)
	_, _ = part.Write(file.Content)
	_ = form.Close()
	return out.Bytes(), form.FormDataContentType(), nil
}

// consoleTimeout bounds how long Console waits.
const consoleTimeout = 3 * time.Second

// Console returns the address of the server's console, or "" if the server does not serve one or does not answer.
func (c *Client) Console(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	address := c.Server() + "/console"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address+"/", nil)
	if err != nil {
		return ""
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("User-Agent", c.agent)
	response, err := c.http.Do(request)
	if err != nil {
		return ""
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return ""
	}
	return address
}
