package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/agentgraph/agentgraph/model"
)

// File is a file that a mutation uploads.
type File struct {
	// Variable is the path of the variable that it is for, such as "variables.input.upload".
	Variable string
	Name     string
	Content  []byte
}

// Mutate executes a mutation and decodes its data. Sent again under the same idempotency key, it is carried out once
// and answered as the first time. The file is nil for none.
func (c *Client) Mutate(ctx context.Context, key, document string, with Variables, file *File, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	body, contentType, err := encode(document, with, file)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("User-Agent", c.agent)
	request.Header.Set("Idempotency-Key", key)
	// A form is refused without it, since other sites could send it.
	request.Header.Set("X-Requested-By", "agentgraph")
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	if response.StatusCode == http.StatusConflict && response.Header.Get("Retry-After") != "" {
		return &refusal{response.StatusCode, model.Unavailable, "the request is still being carried out"}
	}
	data, err := result(response.StatusCode, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// encode returns the body of a request and its content type: a form, if there is a file.
func encode(document string, with Variables, file *File) (body []byte, contentType string, err error) {
	operation, err := json.Marshal(map[string]any{"query": document, "variables": with})
	if err != nil || file == nil {
		return operation, "application/json", err
	}
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	if err := form.WriteField("operations", string(operation)); err != nil {
		return nil, "", err
	}
	if err := form.WriteField("map", fmt.Sprintf(`{"0":[%q]}`, file.Variable)); err != nil {
		return nil, "", err
	}
	part, err := form.CreateFormFile("0", file.Name)
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(file.Content); err != nil {
		return nil, "", err
	}
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), form.FormDataContentType(), nil
}
