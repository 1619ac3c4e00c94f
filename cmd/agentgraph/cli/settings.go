package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// configFlag names the flag that names the file of settings.
const configFlag = "config"

// settings is a file with values of flags: names of flags with their values, for all commands or, below the words of a
// command, for that one alone. A nil file has none.
type settings struct{ values map[string]any }

// readSettings reads the file at the path, which is nil if that is empty, and refuses what is neither a flag nor a
// command of the program.
func readSettings(path string, program *cobra.Command) (*settings, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	values := map[string]any{}
	if err := DecodeYAML(text, &values); err != nil {
		// The library's text would repeat the line, which may hold a secret.
		return nil, fmt.Errorf("read settings: %s is not YAML, or no map of names to values", path)
	}
	if err := known(program, "", values); err != nil {
		return nil, fmt.Errorf("read settings: %s: %w", path, err)
	}
	return &settings{values}, nil
}

// valueOf returns the value of a command's flag as a command line would have it. What is said for the command itself
// takes precedence over what is said for those above it.
func (s *settings) valueOf(command []string, flag string) (text string, found bool) {
	if s == nil {
		return "", false
	}
	var value any
	for below := s.values; below != nil; {
		// A map is not of the flag but of the command with its name.
		if own, isThere := below[flag]; isThere && !isMap(own) {
			value = own
		}
		if len(command) == 0 {
			break
		}
		below, _ = below[command[0]].(map[string]any)
		command = command[1:]
	}
	if value == nil {
		return "", false
	}
	list, isList := value.([]any)
	if !isList {
		return fmt.Sprint(value), true
	}
	parts := make([]string, len(list))
	for i, part := range list {
		parts[i] = fmt.Sprint(part)
	}
	return strings.Join(parts, ","), true
}

func isMap(value any) bool {
	_, isMap := value.(map[string]any)
	return isMap
}

// known refuses what is neither a flag of the command, of one above or of one below it, nor a command.
func known(cmd *cobra.Command, prefix string, values map[string]any) error {
	for name, value := range values {
		below, isMap := value.(map[string]any)
		child := childNamed(cmd, name)
		switch {
		case isMap && child == nil:
			return errors.New(prefix + name + " is not a command")
		case isMap:
			if err := known(child, prefix+name+".", below); err != nil {
				return err
			}
		case !hasFlag(cmd, name):
			return errors.New(prefix + name + " is not a setting")
		}
	}
	return nil
}

func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name {
			return child
		}
	}
	return nil
}

// hasFlag reports whether the command or one below it has the flag, and that is one that settings may set.
func hasFlag(cmd *cobra.Command, name string) bool {
	if flag := cmd.Flags().Lookup(name); flag != nil && name != configFlag {
		if _, isDeclared := flag.Value.(*value); isDeclared {
			return true
		}
	}
	for _, child := range cmd.Commands() {
		if hasFlag(child, name) {
			return true
		}
	}
	return false
}
