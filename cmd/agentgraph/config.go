package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// configFile reads values of flags from the file that --config names: names of flags with their values, for all commands
// or, below the words of a command, for that one alone.
type configFile struct {
	path   string
	values map[string]any
}

// Validate has nothing to check before the command line is read.
func (*configFile) Validate(*kong.Application) error { return nil }

// Resolve returns the value of the flag, nil unless the file has one. The environment takes precedence.
func (c *configFile) Resolve(cli *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "config" {
		return nil, nil
	}
	if err := c.read(cli); err != nil {
		return nil, err
	}
	for _, variable := range flag.Envs {
		if os.Getenv(variable) != "" || os.Getenv(variable+"_FILE") != "" {
			return nil, nil
		}
	}
	found := c.values[flag.Name]
	below := c.values
	for _, word := range strings.Fields(commandOf(parent.Node())) {
		next, ok := below[word].(map[string]any)
		if !ok {
			break
		}
		below = next
		if value, ok := below[flag.Name]; ok {
			found = value
		}
	}
	return flat(found), nil
}

// commandOf returns the words of a command, without the program's name.
func commandOf(node *kong.Node) string {
	_, words, _ := strings.Cut(node.FullPath(), " ")
	return words
}

// flat returns a list as kong reads one, with commas, and a number as it was written.
func flat(value any) any {
	list, ok := value.([]any)
	if !ok {
		if value == nil {
			return nil
		}
		return fmt.Sprint(value)
	}
	parts := make([]string, len(list))
	for i, part := range list {
		parts[i] = fmt.Sprint(part)
	}
	return strings.Join(parts, ",")
}

// read reads the file, once.
func (c *configFile) read(cli *kong.Context) error {
	path := os.Getenv("AGENTGRAPH_CONFIG")
	for _, given := range cli.Path {
		if given.Flag != nil && given.Flag.Name == "config" {
			path = cmp.Or(fmt.Sprint(cli.FlagValue(given.Flag)), path)
		}
	}
	if path == c.path {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		// The library's text would repeat the line, which may hold a secret.
		return fmt.Errorf("read settings: %s is not YAML, or no map of names to values", path)
	}
	if err := known(cli.Model.Node, "", values); err != nil {
		return fmt.Errorf("read settings: %s: %w", path, err)
	}
	c.path, c.values = path, values
	return nil
}

// known refuses what is neither a flag of the command, or of one below it, nor a command.
func known(node *kong.Node, prefix string, values map[string]any) error {
	for name, value := range values {
		child := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name })
		below, isMap := value.(map[string]any)
		if child >= 0 && isMap {
			if err := known(node.Children[child], prefix+name+".", below); err != nil {
				return err
			}
			continue
		}
		if isMap {
			return errors.New(prefix + name + " is not a command")
		}
		if !hasFlag(node, name) {
			return errors.New(prefix + name + " is not a setting")
		}
	}
	return nil
}

// hasFlag reports whether the command, one above or one below it has the flag.
func hasFlag(node *kong.Node, name string) bool {
	for _, flags := range node.AllFlags(false) {
		for _, flag := range flags {
			if flag.Name == name && name != "help" && name != "config" {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.Children, func(child *kong.Node) bool { return hasFlag(child, name) })
}
