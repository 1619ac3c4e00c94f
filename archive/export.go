package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// partSize is the minimum number of bytes of an entry with rows, except for the last entry of a table. An entry is
// buffered in memory, because in a tar its length comes before its content.
const partSize = 1 << 20

// ExportOptions configures Export.
type ExportOptions struct {
	// Secrets includes tool headers in their stored form. Only a server with the same secret key can use them.
	Secrets bool
	// Program is the version of the exporting program.
	Program string
	// Progress is called with the number of rows and files exported so far, and with their total number. It may be nil.
	Progress func(done, all int64)
}

// Export writes an archive of one snapshot of the company. It does not block writes to the company.
func Export(ctx context.Context, store *db.Store, companyID string, to io.Writer, o ExportOptions) (*Manifest, error) {
	var manifest *Manifest
	return manifest, store.Snapshot(ctx, companyID, func(ctx context.Context, snapshot *db.Snapshot) error {
		var err error
		if manifest, err = manifestOf(ctx, snapshot, o); err != nil {
			return err
		}
		compressed := gzip.NewWriter(errorWriter{to})
		w := &writer{tar: tar.NewWriter(compressed), manifest: manifest, onProgress: o.Progress}
		if err := w.writeAll(ctx, snapshot, o.Secrets); err != nil {
			return err
		}
		return errors.Join(w.tar.Close(), compressed.Close())
	})
}

func manifestOf(ctx context.Context, snapshot *db.Snapshot, o ExportOptions) (*Manifest, error) {
	company, err := snapshot.Company(ctx)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		Format: Format, Version: Version, ID: model.NewID("archive"), Program: o.Program, ExportedAt: time.Now().UTC(),
		Company: Company{company.ID, company.Name, company.CreatedAt.UTC()}, Rows: map[string]int64{},
	}
	for _, table := range db.ArchivedTables() {
		if m.Rows[table], err = snapshot.Count(ctx, table); err != nil {
			return nil, err
		}
	}
	m.Files = m.Rows[filesAfter]
	if !o.Secrets {
		m.LeftOut, err = snapshot.Headers(ctx)
	}
	return m, err
}

// writer writes the entries of an archive.
type writer struct {
	tar        *tar.Writer
	manifest   *Manifest
	onProgress func(done, all int64)
	done       int64
}

func (w *writer) writeAll(ctx context.Context, snapshot *db.Snapshot, secrets bool) error {
	err := w.writeManifest()
	if err != nil {
		return err
	}
	for _, kind := range order {
		if kind == filesName {
			err = w.files(ctx, snapshot)
		} else {
			err = w.rows(ctx, snapshot, kind, secrets)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeManifest() error {
	text, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return err
	}
	return w.entry(manifestName, append(text, '\n'))
}

// rows writes the rows of a table, in parts.
func (w *writer) rows(ctx context.Context, snapshot *db.Snapshot, table string, secrets bool) error {
	part, number := &bytes.Buffer{}, 0
	flush := func() error {
		number++
		defer part.Reset()
		return w.entry(fmt.Sprintf("%s/%06d.jsonl", table, number), part.Bytes())
	}
	for row, err := range snapshot.Rows(ctx, table, secrets) {
		if err != nil {
			return err
		}
		part.Write(row)
		part.WriteByte('\n')
		w.addProgress()
		if part.Len() >= partSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if part.Len() == 0 {
		return nil
	}
	return flush()
}

func (w *writer) files(ctx context.Context, snapshot *db.Snapshot) error {
	for d, err := range snapshot.Files(ctx) {
		if err != nil {
			return err
		}
		if err := w.header(filesName+"/"+d.ID, int64(d.Size)); err != nil {
			return err
		}
		if err := snapshot.CopyFile(ctx, w.tar, d); err != nil {
			return err
		}
		w.addProgress()
	}
	return nil
}

func (w *writer) addProgress() {
	w.done++
	if w.onProgress != nil {
		w.onProgress(w.done, w.manifest.total())
	}
}

func (w *writer) header(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.manifest.ExportedAt,
		Typeflag: tar.TypeReg})
}

func (w *writer) entry(name string, content []byte) error {
	if err := w.header(name, int64(len(content))); err != nil {
		return err
	}
	_, err := w.tar.Write(content)
	return err
}
