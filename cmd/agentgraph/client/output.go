package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/model"
)

// Pluralize returns a number with its noun: "1 run", "2 runs". The plural is given if it does not end with an added s.
func Pluralize(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
	case len(plural) > 0:
		noun = plural[0]
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Printable returns text on one line, without the characters of model.IsControl. Language models may write such
// characters, which a terminal would interpret.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case model.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// IsControl is model.IsControl.
func IsControl(r rune) bool { return model.IsControl(r) }

// Quoted returns Printable text in double quotes.
func Quoted(text string) string { return model.Quote(Printable(text)) }

// Style determines whether the output has colors.
type Style bool

// StyleOf returns a Style with colors, unless the output is not a terminal, the terminal has no colors, or NO_COLOR is
// set (https://no-color.org).
func StyleOf(out io.Writer) Style {
	return Style(cli.IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Bold returns the text in bold.
func (s Style) Bold(text string) string { return s.with("1", text) }

// Dim returns the text in a faint color.
func (s Style) Dim(text string) string { return s.with("2", text) }

// Red returns the text in red.
func (s Style) Red(text string) string { return s.with("31", text) }

// Green returns the text in green.
func (s Style) Green(text string) string { return s.with("32", text) }

// Yellow returns the text in yellow.
func (s Style) Yellow(text string) string { return s.with("33", text) }

// Cyan returns the text in cyan.
func (s Style) Cyan(text string) string { return s.with("36", text) }

func (s Style) with(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// WriteFile writes a file atomically. A path that is not a regular file, such as a pipe, is written in place. A
// symbolic link is replaced, and its target does not change.
func WriteFile(path string, content []byte, mode fs.FileMode) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		_, err = file.Write(content)
		return errors.Join(err, file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = io.Copy(file, bytes.NewReader(content))
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
