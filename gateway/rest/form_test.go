package rest

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/stretchr/testify/require"
)

func TestUploadedFileMustBeInItsPart(t *testing.T) {
	t.Parallel()
	for part, status := range map[string]int{"file": 200, "File": 200, "upload": 400} {
		b := &backend{schema: theSchema(t)}
		transport, err := New(b.schema, Options{
			Status: statusOf, TraceID: func(context.Context) string { return "trace-1" }, MaxBody: bodyLimit,
			MaxUpload: bodyLimit,
		})
		require.NoError(t, err)
		server := handler.New(b)
		server.AddTransport(transport)

		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		file, err := form.CreateFormFile(part, "hours.md")
		require.NoError(t, err)
		_, err = file.Write([]byte("Open at nine."))
		require.NoError(t, err)
		require.NoError(t, form.Close())

		w := call(server, http.MethodPost, "/Dataset/d/document", body.String(), "Content-Type: "+form.FormDataContentType())
		require.Equal(t, status, w.Code, "%s: %s", part, w.Body)
		if status != http.StatusOK {
			require.Zero(t, b.calls)
			require.Contains(t, w.Body.String(), "the file must be in the part file")
			continue
		}
		upload, _ := b.variables["file"].(graphql.Upload)
		require.Equal(t, "hours.md", upload.Filename)
	}
}
