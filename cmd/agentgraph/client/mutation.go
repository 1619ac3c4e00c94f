package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"

	"github.com/google/uuid"

	"github.com/agentgraph/agentgraph/model"
)

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
