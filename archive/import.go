package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// A batch of rows is inserted at once. It has at most so many rows, and not many more bytes.
const (
	batchRows  = 500
	batchBytes = 2 << 20
)

// ImportOptions say how an archive is imported and what is told.
type ImportOptions struct {
	// IsRehearsal checks everything and keeps nothing.
	IsRehearsal bool
	// Progress is called with how many rows and files are done and how many there are, 0 if the archive does not say so. It may be nil.
	Progress func(done, all int64)
}

// Import makes a company of an archive, all of it or nothing, and returns the manifest with what was read. db.ErrImportedBefore means that it was
// made before of the same archive. Errors name the entry and the line.
func Import(ctx context.Context, store *db.Store, from io.Reader, o ImportOptions) (*Manifest, error) {
	r, err := newReader(from)
	if err != nil {
		return nil, err
	}
	if err := r.readManifest(); err != nil {
		return nil, err
	}
	company := &model.Company{ID: r.manifest.Company.ID, Name: r.manifest.Company.Name, CreatedAt: r.manifest.Company.CreatedAt}
	r.tell = o.Progress
	return r.manifest, store.ImportCompany(ctx, company, r.manifest.ID, o.IsRehearsal, func(ctx context.Context, in *db.CompanyImport) error {
		if err := r.all(ctx, in); err != nil {
			return err
		}
		if err := r.compare(); err != nil {
			return err
		}
		r.manifest.Rows, r.manifest.Files = r.rows, r.files
		return nil
	})
}

// reader reads the entries of an archive.
type reader struct {
	whole    io.Reader
	tar      *tar.Reader
	manifest *Manifest
	tell     func(done, all int64)

	// rows and files are how many were read.
	rows  map[string]int64
	files int64
	done  int64
	// place is that of the last entry in the order.
	place int
}

func newReader(from io.Reader) (*reader, error) {
	compressed := &counted{from: from}
	expanded, err := gzip.NewReader(bufio.NewReaderSize(compressed, 1<<16))
	if err != nil {
		return nil, errors.New("this is no archive: it is not compressed by gzip")
	}
	whole := &bounded{from: expanded, compressed: compressed}
	return &reader{whole: whole, tar: tar.NewReader(whole), rows: map[string]int64{}}, nil
}

// counted counts the bytes that are read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded ends with an error when an archive becomes far larger than what it is read from.
type bounded struct {
	from       io.Reader
	compressed *counted
	n          int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.n += int64(n)
	if b.n > freeBytes && b.n > mostRatio*b.compressed.n {
		return 0, fmt.Errorf("it becomes more than %d times larger than it is, which no company does", mostRatio)
	}
	return n, err
}

// next returns the next entry that holds something, or io.EOF.
func (r *reader) next() (*tar.Header, error) {
	for {
		header, err := r.tar.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("the archive is damaged or ends early: %w", err)
		case header.Typeflag == tar.TypeDir:
		case header.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("entry %q must be a plain file", header.Name)
		default:
			return header, nil
		}
	}
}

func (r *reader) readManifest() error {
	header, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if header == nil || path.Clean(header.Name) != manifestName {
		return fmt.Errorf("the first entry must be %s", manifestName)
	}
	text, err := io.ReadAll(io.LimitReader(r.tar, mostManifest+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", manifestName, err)
	case len(text) > mostManifest:
		return fmt.Errorf("%s must have at most %d bytes", manifestName, mostManifest)
	}
	r.manifest = &Manifest{}
	if err := json.Unmarshal(text, r.manifest); err != nil {
		return fmt.Errorf("%s: %w", manifestName, err)
	}
	if err := r.manifest.check(); err != nil {
		return err
	}
	if r.manifest.ID == "" {
		r.manifest.ID = model.NewID("archive")
	}
	return nil
}

func (r *reader) all(ctx context.Context, in *db.CompanyImport) error {
	for {
		header, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return err
		}
		kind, documentID, ok := kindOf(header.Name)
		if !ok {
			return fmt.Errorf("entry %q is neither rows of a known table nor the file of a document", header.Name)
		}
		place := placeOf(kind)
		if place < r.place {
			return fmt.Errorf("entry %q must stand before those of %s", header.Name, order[r.place])
		}
		r.place = place
		if kind == filesName {
			err = in.File(ctx, documentID, header.Size, r.tar)
			r.files++
			r.count(1)
		} else {
			err = r.lines(ctx, in, kind)
		}
		if err != nil {
			return entryError(header.Name, err)
		}
	}
}

// end reads what follows the last entry, so that the checksum of the whole is checked.
func (r *reader) end() error {
	if _, err := io.Copy(io.Discard, r.whole); err != nil {
		return fmt.Errorf("the archive is damaged or ends early: %w", err)
	}
	return nil
}

// entryError names the entry, unless the error is about the database.
func entryError(name string, err error) error {
	if db.IsAway(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", name, told(err))
}

// told is an error with all its fields, where there are several.
func told(err error) error {
	var known *model.Error
	switch {
	case !errors.As(err, &known):
		return err
	case len(known.Fields) < 2:
		return errors.New(known.Message)
	}
	return errors.New(known.Error())
}

// lines reads the rows of an entry. Empty lines are passed over.
func (r *reader) lines(ctx context.Context, in *db.CompanyImport, table string) error {
	lines := bufio.NewScanner(r.tar)
	lines.Buffer(make([]byte, 0, 1<<16), mostLine)
	batch, numbers, size, number := []json.RawMessage{}, []int{}, 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := in.Rows(ctx, table, batch)
		var wrong *db.RowError
		if errors.As(err, &wrong) {
			return fmt.Errorf("line %d: %w", numbers[wrong.Index], told(wrong.Err))
		}
		r.rows[table] += int64(len(batch))
		r.count(int64(len(batch)))
		batch, numbers, size = batch[:0], numbers[:0], 0
		return err
	}
	for lines.Scan() {
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		batch, numbers, size = append(batch, bytes.Clone(line)), append(numbers, number), size+len(line)
		if len(batch) >= batchRows || size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: must have at most %d bytes", number+1, mostLine)
	case err != nil:
		return fmt.Errorf("line %d: the archive is damaged or ends early: %w", number+1, err)
	}
	return flush()
}

func (r *reader) count(more int64) {
	r.done += more
	if r.tell != nil {
		r.tell(r.done, r.manifest.total())
	}
}

// compare returns an error unless everything was read that the manifest counts.
func (r *reader) compare() error {
	if r.manifest.Rows == nil {
		return nil
	}
	for _, table := range db.ArchivedTables() {
		if wanted := r.manifest.Rows[table]; r.rows[table] != wanted {
			return fmt.Errorf("the archive has %d rows of %s, and its manifest says %d", r.rows[table], table, wanted)
		}
	}
	if r.files != r.manifest.Files {
		return fmt.Errorf("the archive has %d files, and its manifest says %d", r.files, r.manifest.Files)
	}
	return nil
}
