package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// IsTerminal reports whether an input or an output is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// usualWidth is the width of a terminal whose width is unknown, in columns.
const usualWidth = 80

// Width returns the width of the terminal, in columns.
func Width(out io.Writer) int {
	if file, isFile := out.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usualWidth
}

// JSONWriter writes JSON to out. It escapes control characters and those that change the direction of text, because a
// terminal would interpret them. Each Write has whole characters.
func JSONWriter(out io.Writer) io.Writer { return jsonWriter{out} }

type jsonWriter struct{ out io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	isUnsafe := func(r rune) bool { return r >= '\x7f' && unicode.In(r, unicode.Cc, unicode.Bidi_Control) }
	if bytes.IndexFunc(text, isUnsafe) < 0 {
		return w.out.Write(text)
	}
	var escaped bytes.Buffer
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if isUnsafe(r) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.Write(rest[:size])
		}
		rest = rest[size:]
	}
	_, err := w.out.Write(escaped.Bytes())
	return len(text), err
}

// WriteJSON writes the value as indented JSON.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(JSONWriter(out))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Interruptible returns a reader of in that fails when ctx ends. Reads of files and terminals cannot be interrupted, so
// a goroutine may continue to read in.
func Interruptible(ctx context.Context, in io.Reader) io.Reader {
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(writer, in)
		_ = writer.CloseWithError(err)
	}()
	return reader
}

// ReadLine reads a line, and returns it without its end. It returns the error of ctx when ctx ends.
func ReadLine(ctx context.Context, in io.Reader) (string, error) {
	line, _ := bufio.NewReader(Interruptible(ctx, in)).ReadString('\n')
	return strings.TrimRight(line, "\r\n"), ctx.Err()
}

// Confirm reads a line, and reports whether it is a yes. It returns early when ctx ends.
func Confirm(ctx context.Context, in io.Reader) bool {
	line, err := ReadLine(ctx, in)
	line = strings.ToLower(strings.TrimSpace(line))
	return err == nil && (line == "y" || line == "yes")
}

// Wrap wraps a text at words into lines of at most limit columns. It breaks longer words.
func Wrap(text string, limit int) (lines []string) {
	for _, line := range wrap(text, limit) {
		for Columns(line) > limit {
			at := fitting(line, limit)
			lines, line = append(lines, line[:at]), line[at:]
		}
		lines = append(lines, line)
	}
	return lines
}

// wrap wraps a text at words into lines of at most limit columns. A longer word gets a line of its own.
func wrap(text string, limit int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case Columns(lines[last])+1+Columns(word) <= limit:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// fitting returns how many bytes of a text fit into limit columns. It is never less than the first character.
func fitting(text string, limit int) int {
	columns := 0
	for at, r := range text {
		columns += columnsOf(r)
		if columns > limit && at > 0 {
			return at
		}
	}
	return len(text)
}

// Columns returns the width of the text in columns of a terminal.
func Columns(text string) (columns int) {
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

// columnsOf returns 2 for wide characters such as Chinese ones, 0 for combining marks, and otherwise 1.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
