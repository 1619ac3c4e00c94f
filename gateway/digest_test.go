package gateway

import (
	"bytes"
	"crypto/sha256"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sumOf reads a body in chunks of the given sizes, in rotation, and returns its digest.
func sumOf(t require.TestingT, contentType, body string, sizes ...int) string {
	r := &http.Request{Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}
	d := digestOf(r)
	var read bytes.Buffer
	for i, done := 0, false; !done; i++ {
		n, err := io.CopyN(&read, d, int64(sizes[i%len(sizes)]))
		done = err != nil || n == 0
	}
	require.Equal(t, body, read.String())
	return string(d.hash.Sum(nil))
}

// formOf returns a form with one text and one file.
func formOf(t require.TestingT, boundary, text, file string) (contentType, body string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	require.NoError(t, w.SetBoundary(boundary))
	require.NoError(t, w.WriteField("name", text))
	part, err := w.CreateFormFile("file", "a.txt")
	require.NoError(t, err)
	_, err = io.WriteString(part, file)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return w.FormDataContentType(), form.String()
}

func TestFormDigestIgnoresTheBoundary(t *testing.T) {
	t.Parallel()
	content := rapid.StringOfN(rapid.SampledFrom([]rune("-\r\nab")), 0, 200, -1)
	sizes := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		text, file, other := content.Draw(t, "text"), content.Draw(t, "file"), content.Draw(t, "other")
		first, body := formOf(t, "4e5c1d", text, file)
		second, again := formOf(t, "------------9f0xyz", text, file)
		sum := sumOf(t, first, body, sizes.Draw(t, "sizes")...)
		require.Equal(t, sum, sumOf(t, second, again, sizes.Draw(t, "more sizes")...))
		require.Equal(t, sum, sumOf(t, first, body+"\r\nan epilogue that nobody reads", 7),
			"the epilogue does not count")
		_, different := formOf(t, "4e5c1d", text, other)
		require.Equal(t, file == other, sum == sumOf(t, first, different, 7))
		_, different = formOf(t, "4e5c1d", other, file)
		require.Equal(t, text == other, sum == sumOf(t, first, different, 7))
	})
}

func TestOtherBodiesAreDigestedWhole(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "", "multipart/form-data", "/;="} {
		want := sha256.Sum256([]byte("--a\r\nb\n--a--\nc"))
		require.Equal(t, string(want[:]), sumOf(t, contentType, "--a\r\nb\n--a--\nc", 3))
	}
}
