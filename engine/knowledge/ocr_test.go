package knowledge_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// recognizes returns a program that replaces Tesseract: it checks its arguments and then runs the script. The tests do
// not check which letters Tesseract itself recognizes.
func recognizes(t *testing.T, script string) knowledge.OCR {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tesseract")
	text := "#!/bin/sh\n[ \"$*\" = 'stdin stdout -l eng+fra' ] && [ \"$OMP_THREAD_LIMIT\" = 1 ] || exit 2\n" + script
	require.NoError(t, os.WriteFile(program, []byte(text), 0o700))
	return knowledge.OCR{Program: program, Languages: "eng+fra"}
}

// writes checks that the input is a PNG, and prints pages that end with a form feed, as Tesseract does.
const writes = `head -c 4 | grep -q PNG || exit 1
cat > /dev/null
printf 'Invoice 4711\n\nTotal: 20 pounds\n\f'`

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 20, 10))))
	return b.Bytes()
}

func TestTextInPicturesIsRead(t *testing.T) {
	t.Parallel()
	text, err := knowledge.Recognize(t.Context(), recognizes(t, writes), 1, picture(t))
	require.NoError(t, err)
	require.Equal(t, []knowledge.Block{{Text: "Invoice 4711"}, {Text: "Total: 20 pounds"}}, text.Blocks)
	require.Contains(t, text.Warning, "may have mistakes")

	text, err = knowledge.Recognize(t.Context(), recognizes(t, writes), 2, paged(t, 3, "10 10 100 100 re f", ""))
	require.NoError(t, err)
	require.Len(t, text.Blocks, 4, "two of each page")
	require.Contains(t, text.Warning, "only the first 2 pages")
}

func TestPicturesAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		content []byte
		says    string
	}{
		"too many pixels":   {writes, []byte("GIF89a\x00\x20\x00\x20\x00\x00\x00"), "more than 40 million pixels"},
		"another file type": {writes, []byte("BM\x00\x00\x00\x00"), "is not a PNG, JPEG or GIF"},
		"no output":         {"cat > /dev/null", picture(t), "no text was recognized"},
		"endless output":    {"exec yes", picture(t), "more than 1 MiB of text"},
		"a failure":         {"exit 1", picture(t), "text could not be recognized"},
	} {
		_, err := knowledge.Recognize(t.Context(), recognizes(t, c.script), 1, c.content)
		require.ErrorContains(t, err, c.says, name)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := knowledge.Recognize(ctx, recognizes(t, "exec tail -f /dev/null"), 1, picture(t))
	require.ErrorIs(t, err, context.DeadlineExceeded, "the program ends with its context")
}

func TestScansAreBounded(t *testing.T) {
	t.Parallel()
	pages, size, picture, file := knowledge.ScanLimits()
	require.Equal(t, []any{50, 32 << 20, time.Minute, 5 * time.Minute}, []any{pages, size, picture, file},
		"as the documentation says")

	scan := paged(t, 4, "10 10 100 100 re f", "")
	whole, err := knowledge.RecognizeWithin(t.Context(), recognizes(t, writes), size, picture, file, scan)
	require.NoError(t, err)
	require.Len(t, whole.Blocks, 8)
	cut, err := knowledge.RecognizeWithin(t.Context(), recognizes(t, writes), 1, picture, file, scan)
	require.NoError(t, err)
	require.Len(t, cut.Blocks, 2, "the page that exceeds the bytes is the last")
	require.Contains(t, cut.Warning, "only the first 1 pages")

	const late = "longer than a minute for an image, or five minutes"
	endless := recognizes(t, "exec tail -f /dev/null")
	_, err = knowledge.RecognizeWithin(t.Context(), endless, size, 20*time.Millisecond, file, scan)
	require.ErrorContains(t, err, late)
	// The first page is read. The second one takes the rest of the file's time.
	second := recognizes(t, `[ -e "$0.read" ] && exec tail -f /dev/null; : > "$0.read"
`+writes)
	_, err = knowledge.RecognizeWithin(t.Context(), second, size, picture, 500*time.Millisecond, scan)
	require.ErrorContains(t, err, late)
}

func TestScannedDocumentsAreIndexedOneByOne(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{OCR: recognizes(t, writes)}, dbtest.New(t), nil)
	datasets, err := l.tenant.SearchedDatasets(t.Context(), l.chat.ID)
	require.NoError(t, err)
	scan := picture(t)
	d, err := l.base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{
		DatasetID: datasets[0].ID, Name: new("scan.png"), Upload: &graphql.Upload{File: bytes.NewReader(scan),
			Size: int64(len(scan))},
	})
	require.NoError(t, err)
	end := l.base.RecognizeNothing()
	var later *db.Later
	require.ErrorAs(t, l.base.Index(t.Context(), l.tenant, d.IndexingID, 1), &later)
	d, err = l.tenant.Document(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusIndexing, d.Status)
	require.Contains(t, *d.Warning, "another file")
	end()
	require.NoError(t, l.base.Index(t.Context(), l.tenant, d.IndexingID, 2))
	d, err = l.tenant.Document(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusReady, d.Status)
	require.Contains(t, *d.Warning, "recognized in images")
	require.Contains(t, texts(l.ask("invoice"))[0], "Invoice 4711")
}
