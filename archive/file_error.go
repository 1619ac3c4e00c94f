package archive

import (
	"errors"
	"fmt"
	"io"
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
