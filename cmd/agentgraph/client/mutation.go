package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	status, answered, text, err := c.exchange(ctx, body, http.Header{
		"Content-Type": {contentType}, "Idempotency-Key": {key},
		// A form is refused without it, since other sites could send it.
		"X-Requested-By": {"agentgraph"},
	})
	if err != nil {
		return err
	}
	if status == http.StatusConflict && answered.Get("Retry-After") != "" {
		return &refusal{status, model.Unavailable, "the request is still in progress"}
	}
	data, err := result(status, text)
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
	// Writing to memory cannot fail.
	_ = form.WriteField("operations", string(operation))
	_ = form.WriteField("map", fmt.Sprintf(`{"0":[%q]}`, file.Variable))
	part, _ := form.CreateFormFile("0", file.Name)
	_, _ = part.Write(file.Content)
	_ = form.Close()
	return out.Bytes(), form.FormDataContentType(), nil
}
