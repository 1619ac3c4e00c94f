package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// configFlag is the name of the flag for the settings file.
const configFlag = "config"

// SettingsOf is the annotation of a command that also uses the settings of another command. Its value is the name of
// that command. Both are subcommands of the root command.
const SettingsOf = "settings-of"

// settings is a settings file: values of flags by name. Values at the top apply to all commands. Values below the name
// of a command apply to that command only.
type settings map[string]any

// readSettings reads the file, and refuses keys that are neither a flag nor a command of the program. Without a path,
// there are no values.
func readSettings(path string, program *cobra.Command) (settings, error) {
	values := settings{}
	if path == "" {
		return values, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if _, err := DecodeText(text); err != nil {
		return nil, fmt.Errorf("read settings: %s: %w", path, err)
	}
	if err := DecodeYAML(text, &values); err != nil {
		// The library's error would repeat the line, which may contain a secret.
		var invalid *yaml.SyntaxError
		if errors.As(err, &invalid) && invalid.Token != nil {
			return nil, fmt.Errorf("read settings: %s: line %d cannot be read: check its syntax, and put numbers with "+
				"leading zeros in quotes", path, invalid.Token.Position.Line)
		}
		return nil, fmt.Errorf("read settings: %s must be a YAML map of names to values", path)
	}
	if err := checkKeys(program, "", values); err != nil {
		return nil, fmt.Errorf("read settings: %s: %w", path, err)
	}
	return values, nil
}

// valueOf returns the value of a command's flag, in the form of a command line. A value for the command itself
// overrides those for its parents.
func (s settings) valueOf(command []string, flag string) (text string, found bool) {
	var value any
	for below := map[string]any(s); below != nil; {
		own, isThere := below[flag]
		// A map belongs to the command of that name, not to the flag.
		if _, isMap := own.(map[string]any); isThere && !isMap {
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

// inherit adds the values of the command that cmd's annotation SettingsOf names. The values for cmd itself take
// precedence.
func (s settings) inherit(cmd *cobra.Command) {
	if cmd.Annotations[SettingsOf] == "" {
		return
	}
	values := map[string]any{}
	for _, name := range []string{cmd.Annotations[SettingsOf], cmd.Name()} {
		below, _ := s[name].(map[string]any)
		maps.Copy(values, below)
	}
	s[cmd.Name()] = values
}

// checkKeys refuses keys that are neither a subcommand nor a flag of the command, its parents or its subcommands.
func checkKeys(cmd *cobra.Command, prefix string, values map[string]any) error {
	for name, value := range values {
		below, isMap := value.(map[string]any)
		child := childNamed(cmd, name)
		switch {
		case isMap && child == nil:
			return errors.New(prefix + name + " is not a command")
		case isMap:
			if err := checkKeys(child, prefix+name+".", below); err != nil {
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

// hasFlag reports whether the command or one of its subcommands has a flag with the name that settings may set.
func hasFlag(cmd *cobra.Command, name string) bool {
	if flag := cmd.Flags().Lookup(name); flag != nil && name != configFlag {
		if _, isDeclared := flag.Value.(*value); isDeclared {
			return true
		}
	}
	return slices.ContainsFunc(cmd.Commands(), func(child *cobra.Command) bool { return hasFlag(child, name) })
}
