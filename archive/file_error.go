package archive

import (
	"errors"
	"fmt"
	"io"
)

// fileError is an error of the file of an archive. It hides its cause: errors of disks and ends of files in the
// middle would be taken for those of a connection to the database.
type fileError struct{ text string }

func (e *fileError) Error() string { return e.text }

func fileErrorf(format string, args ...any) error { return &fileError{fmt.Sprintf(format, args...)} }

// explain says why an archive cannot be read on: its file cannot be read, or is not what was written.
func (c *counted) explain(err error) error {
	var known *fileError
	switch {
	case errors.As(err, &known):
		return known
	case c.failed != nil:
		return fileErrorf("the archive cannot be read: %v", c.failed)
	}
	return fileErrorf("the archive is damaged or ends early: %v", err)
}

// source reads an entry of an archive, and explains its errors.
type source struct {
	from io.Reader
	of   *counted
}

func (s source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.of.explain(err)
	}
	return n, err
}

// target writes an archive.
type target struct{ to io.Writer }

func (t target) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	if err != nil {
		err = fileErrorf("the archive cannot be written: %v", err)
	}
	return n, err
}
