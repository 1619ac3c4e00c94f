package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// fileError is an error of an archive's file. It does not wrap its cause, because a disk error could be mistaken for an
// error of the database connection.
type fileError struct{ text string }

func (e *fileError) Error() string { return e.text }

func fileErrorf(format string, args ...any) error { return &fileError{fmt.Sprintf(format, args...)} }

// explain returns a fileError for an error while reading: the file cannot be read, or the archive is damaged.
func (c *countingReader) explain(err error) error {
	var known *fileError
	switch {
	case errors.As(err, &known):
		return known
	case c.readErr != nil:
		return fileErrorf("the archive cannot be read: %v", c.readErr)
	}
	return fileErrorf("the archive is damaged or incomplete: %v", err)
}

// entryReader reads an entry of an archive and returns its errors as fileErrors.
type entryReader struct {
	from    io.Reader
	archive *countingReader
}

func (s entryReader) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.archive.explain(err)
	}
	return n, err
}

// errorWriter writes an archive's file and returns its errors as fileErrors.
type errorWriter struct{ to io.Writer }

func (t errorWriter) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	if err != nil {
		err = fileErrorf("the archive cannot be written: %v", err)
	}
	return n, err
}

// entryError names the entry, unless the error is about the database.
func entryError(name string, err error) error {
	if pg.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", name, withFields(err))
}

// withFields returns an error with only the text of a model.Error, which has the faults of all fields.
func withFields(err error) error {
	if known, isKnown := errors.AsType[*model.Error](err); isKnown {
		return errors.New(known.Error())
	}
	return err
}

// maxRefused bounds the refused lines that an error lists. An import with more of them stops.
const maxRefused = 50

// refusal returns an error that lists the refused lines, and the error that ended the import, if any. If the import
// ended because of the database, it returns only that error.
func (r *reader) refusal(err error) error {
	if len(r.refused) == 0 || pg.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	lines := r.refused[:min(len(r.refused), maxRefused)]
	lines = slices.Clip(lines)
	if more := len(r.refused) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	if len(r.refused) >= maxRefused {
		lines = append(lines, "the lines after these were not checked")
	}
	if err != nil {
		lines = append(lines, err.Error())
	}
	if len(lines) == 1 {
		return errors.New(lines[0])
	}
	return fmt.Errorf("%d lines are refused:\n%s", len(r.refused), strings.Join(lines, "\n"))
}
