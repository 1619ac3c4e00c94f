package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of a batch of rows, which one statement inserts. A batch can exceed batchBytes by one row.
const (
	batchRows  = 500
	batchBytes = 2 << 20
)

// ImportOptions configures Import.
type ImportOptions struct {
	// IsRehearsal checks everything and then rolls back.
	IsRehearsal bool
	// Progress is called with the number of imported rows and files, and the number in the archive, which is 0 if unknown.
	// It may be nil.
	Progress func(done, all int64)
}

// Import creates a company from an archive in one transaction, and returns the manifest with the imported numbers. It
// returns db.ErrImportedBefore if the company came from this archive. It returns CONFLICT if the company exists for
// another reason, such as an import of an archive with the same id but other contents. Errors name the entry and the
// line.
func Import(ctx context.Context, store *db.Store, from io.Reader, o ImportOptions) (*Manifest, error) {
	r, err := newReader(from)
	if err != nil {
		return nil, err
	}
	if err := r.readManifest(); err != nil {
		return nil, err
	}
	company := &model.Company{ID: r.manifest.Company.ID, Name: r.manifest.Company.Name,
		CreatedAt: r.manifest.Company.CreatedAt}
	r.onProgress = o.Progress
	err = store.ImportCompany(ctx, company, r.manifest.ID, o.IsRehearsal,
		func(ctx context.Context, in *db.CompanyImport) error {
			if err := r.refusal(r.importAll(ctx, in)); err != nil {
				return err
			}
			if err := r.compare(len(order)); err != nil {
				return err
			}
			r.manifest.Rows, r.manifest.Files = r.rows, r.files
			r.manifest.PausedSchedules, r.manifest.PausedCampaigns = in.Paused, in.PausedCampaigns
			in.Digest = r.digest.Sum(nil)
			return nil
		})
	var before *db.ImportedBeforeError
	if errors.As(err, &before) && before.Digest != nil {
		err = r.checkRepeatedImport(before)
	}
	return r.manifest, err
}

// checkRepeatedImport reads the rest of the archive. If an archive with the same contents was imported before, it
// returns the given error. Otherwise it returns CONFLICT.
func (r *reader) checkRepeatedImport(before *db.ImportedBeforeError) error {
	for {
		header, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r.content(header))
		}
		if err != nil {
			return err
		}
	}
	if bytes.Equal(r.digest.Sum(nil), before.Digest) {
		return before
	}
	return model.Errorf(model.Conflict, "the company %q was imported earlier from another archive, %q. An import "+
		"cannot add to an existing company. To import this archive, first run agentgraph companies "+
		"delete", r.manifest.Company.ID, r.manifest.ID)
}

// reader reads the entries of an archive.
type reader struct {
	source       *countingReader
	decompressed io.Reader
	tar          *tar.Reader
	// digest hashes the names and contents of the entries.
	digest     hash.Hash
	manifest   *Manifest
	onProgress func(done, all int64)

	// rows and files count the rows and files that were read.
	rows  map[string]int64
	files int64
	done  int64
	// refused describes the refused lines.
	refused []string
	// place is the index of the last entry's kind in the variable order.
	place int
}

func newReader(from io.Reader) (*reader, error) {
	compressed := &countingReader{from: from}
	buffered := bufio.NewReaderSize(compressed, 1<<16)
	if magic, err := buffered.Peek(2); err == nil && string(magic) != "\x1f\x8b" {
		return nil, errors.New("the file is not an archive: it is not compressed with gzip")
	}
	expanded, err := gzip.NewReader(buffered)
	switch {
	case compressed.readErr != nil, errors.Is(err, io.ErrUnexpectedEOF):
		return nil, compressed.explain(err)
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is not an archive: it is empty")
	case err != nil:
		return nil, errors.New("the file is not an archive: it is not compressed with gzip")
	}
	whole := &bounded{from: expanded, compressed: compressed}
	return &reader{source: compressed, decompressed: whole, tar: tar.NewReader(whole), digest: sha256.New(),
		rows: map[string]int64{}}, nil
}

// content returns a reader of an entry, which adds the entry to the digest.
func (r *reader) content(header *tar.Header) io.Reader {
	_, _ = fmt.Fprintf(r.digest, "%s\x00%d\x00", path.Clean(header.Name), header.Size)
	return io.TeeReader(entryReader{r.tar, r.source}, r.digest)
}

// countingReader counts the bytes that are read.
type countingReader struct {
	from io.Reader
	n    int64
	// readErr is the error of the source, or nil.
	readErr error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.readErr = err
	}
	return n, err
}

// bounded reads a decompressed archive. It fails if the decompressed archive is far larger than the compressed one.
type bounded struct {
	from       io.Reader
	compressed *countingReader
	n          int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.n += int64(n)
	if b.n > freeBytes && b.n > maxRatio*b.compressed.n {
		return 0, fileErrorf("the archive decompresses to more than %d times its own size, which no "+
			"export does: export the company again", maxRatio)
	}
	return n, err
}

// next returns the next entry that is a file, or io.EOF.
func (r *reader) next() (*tar.Header, error) {
	for {
		header, err := r.tar.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, r.source.explain(err)
		case header.Typeflag == tar.TypeDir:
		case header.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("entry %q must be a regular file", header.Name)
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
	text, err := io.ReadAll(io.LimitReader(r.content(header), maxManifest+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", manifestName, err)
	case len(text) > maxManifest:
		return fmt.Errorf("%s must have at most %d bytes", manifestName, maxManifest)
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
	if r.manifest.Company.CreatedAt.IsZero() {
		r.manifest.Company.CreatedAt = time.Now().UTC()
	}
	return nil
}

// importAll imports the entries. After a refused line it only looks for more refused lines.
func (r *reader) importAll(ctx context.Context, in *db.CompanyImport) error {
	for len(r.refused) < maxRefused {
		header, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.verifyChecksum()
		}
		if err != nil {
			return err
		}
		kind, documentID, ok := parseEntryName(header.Name)
		if !ok {
			return fmt.Errorf("entry %q is neither a known table nor the file of a document", header.Name)
		}
		place := orderIndex(kind)
		if place < r.place {
			return fmt.Errorf("entry %q must come before the entries of %s", header.Name, order[r.place])
		}
		if place > r.place {
			if err := r.compare(place); err != nil {
				return err
			}
		}
		r.place = place
		switch {
		case kind != filesName:
			err = r.lines(ctx, in, header.Name, kind, r.content(header))
		case len(r.refused) == 0:
			err = in.File(ctx, documentID, header.Size, r.content(header))
			r.files++
			r.addProgress(1)
		}
		if err != nil {
			return entryError(header.Name, err)
		}
	}
	return nil
}

// verifyChecksum reads the rest of the file after the last entry, so that gzip verifies its checksum.
func (r *reader) verifyChecksum() error {
	if _, err := io.Copy(io.Discard, r.decompressed); err != nil {
		return r.source.explain(err)
	}
	return nil
}

// lines imports the rows of an entry, and records the refused ones. It skips empty lines.
func (r *reader) lines(ctx context.Context, in *db.CompanyImport, entry, table string, content io.Reader) error {
	lines := bufio.NewScanner(content)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	batch, numbers, size, number := []json.RawMessage{}, []int{}, 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := in.Rows(ctx, table, batch)
		var wrong db.RowErrors
		if errors.As(err, &wrong) {
			for _, row := range wrong {
				r.refused = append(r.refused, fmt.Sprintf("%s: line %d: %v", entry, numbers[row.Index], withFields(row.Err)))
			}
			err = nil
		}
		r.rows[table] += int64(len(batch))
		r.addProgress(int64(len(batch)))
		batch, numbers, size = batch[:0], numbers[:0], 0
		return err
	}
	for len(r.refused) < maxRefused && lines.Scan() && lines.Err() == nil { // before an error, Scan returns a partial line
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
		return fmt.Errorf("line %d: must have at most %d bytes", number+1, maxLine)
	case err != nil:
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return flush()
}

func (r *reader) addProgress(more int64) {
	r.done += more
	if r.onProgress != nil {
		r.onProgress(r.done, r.manifest.total())
	}
}

// compare returns an error if the numbers of rows and files differ from the manifest's. It compares those that come
// before the entries of order[end].
func (r *reader) compare(end int) error {
	if r.manifest.Rows == nil || len(r.refused) > 0 {
		return nil
	}
	for _, kind := range order[:end] {
		found, wanted, member := r.rows[kind], r.manifest.Rows[kind], "rows."+kind
		what := Counted(found, "rows") + " of " + kind
		if kind == filesName {
			found, wanted, member = r.files, r.manifest.Files, filesName
			what = Counted(found, "files")
		}
		if found != wanted {
			return fmt.Errorf("the archive has %s, but %q in its %s is %d: correct it, or export the company again", what,
				member, manifestName, wanted)
		}
	}
	return nil
}
