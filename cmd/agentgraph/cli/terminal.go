package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
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

// WriteJSON writes the value as indented JSON.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Confirm reads a line, and reports whether it is a yes. It returns early when ctx ends.
func Confirm(ctx context.Context, in io.Reader) bool {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes"
	case <-ctx.Done():
		return false
	}
}
