package knowledge_test

import (
	"archive/zip"
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// A company with many slow files does not delay the files of other companies.
func TestFilesOfOneCompanyDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"A refund is paid within fourteen days."})
	const greedy = "company_greedy"
	for range 2 {
		leave, err := l.base.ReadFile(t.Context(), greedy)
		require.NoError(t, err)
		defer leave()
	}
	waiting, giveUp := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if _, err := l.base.ReadFile(waiting, greedy); err == nil {
				t.Error("a company reads three files at a time")
			}
		})
	}
	datasets, err := l.tenant.Datasets(t.Context(), model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	l.add(datasets.Nodes[0].ID, "more.csv", "We open at nine.")
	leave, err := l.base.ReadFile(t.Context(), l.tenant.CompanyID())
	require.NoError(t, err)
	busy, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.base.ReadFile(busy, "company_third")
	require.ErrorIs(t, err, context.Canceled, "a process reads three files at a time")
	leave()
	giveUp()
	others.Wait()
}

// Some programs write the parts of their archives in an unusual order.
func TestContentTypeOfArchives(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"A refund is paid within fourteen days."})
	const office, open = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
	for want, parts := range map[string][]string{
		office + "presentationml.presentation":    {"docProps/", "ppt/", "ppt/presentation.xml", "[Content_Types].xml"},
		office + "spreadsheetml.sheet":            {"docProps/", "xl/workbook.xml", "[Content_Types].xml"},
		office + "wordprocessingml.document":      {"docProps/", "word/document.xml", "[Content_Types].xml"},
		open + "spreadsheet":                      {"META-INF/manifest.xml", "mimetype", "content.xml"},
		"application/epub+zip":                    {"b.opf", "META-INF/container.xml", "mimetype"},
		"application/zip":                         {"a.txt", "content.xml"},
		"application/vnd.oasis.opendocument.text": {"mimetype", "content.xml"},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range parts {
			part, err := w.Create(name)
			require.NoError(t, err)
			if name == "mimetype" {
				_, err = part.Write([]byte(want))
				require.NoError(t, err)
			}
		}
		require.NoError(t, w.Close())
		d, err := l.base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{DatasetID: l.datasetID(),
			Name: new("upload"), Upload: &graphql.Upload{File: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}})
		require.NoError(t, err)
		require.Equal(t, want, d.ContentType, parts)
	}
}
