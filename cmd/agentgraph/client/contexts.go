package client

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// Server is the address of a server and a key for it.
type Server struct {
	URL    string `yaml:"url"`
	APIKey string `yaml:"apiKey"`
}

// Validate refuses a malformed address, one with a user or a password, and an empty key.
func (s Server) Validate() error {
	address, err := url.Parse(s.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return errors.New("--url must be an address such as https://agents.example.com")
	}
	if address.User != nil {
		return errors.New("--url must not contain a password, because output and reports repeat the address")
	}
	if s.APIKey == "" {
		return errors.New("--api-key or AGENTGRAPH_API_KEY must hold a key, or --context must name a server that " +
			"\"agentgraph context add\" has saved")
	}
	if strings.ContainsFunc(s.APIKey, unicode.IsControl) {
		return errors.New("--api-key must not contain control characters")
	}
	return nil
}

// Contexts are the servers that a user has saved by name.
type Contexts struct {
	// Current is the name of the default context, or "".
	Current string            `yaml:"current,omitempty"`
	Servers map[string]Server `yaml:"servers"`
}

var errNoDirectory = errors.New("there is no directory in which to save contexts: set HOME or XDG_CONFIG_HOME")

// contextsPath returns the path of the contexts file in the user's configuration directory.
func contextsPath() (string, error) {
	directory, err := os.UserConfigDir()
	if err != nil {
		return "", errNoDirectory
	}
	return filepath.Join(directory, "agentgraph", "contexts.yaml"), nil
}

// ReadContexts reads the user's contexts. It returns no contexts if there is no file.
func ReadContexts() (Contexts, error) {
	contexts := Contexts{Servers: map[string]Server{}}
	path, err := contextsPath()
	if err != nil {
		return contexts, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contexts, nil
	}
	if err != nil {
		return contexts, fmt.Errorf("read contexts: %w", err)
	}
	if err := cli.DecodeYAML(text, &contexts, yaml.Strict()); err != nil {
		// The library's error would repeat the line, which may contain a key.
		return contexts, fmt.Errorf("the file %s does not contain valid contexts: fix or remove it", path)
	}
	return contexts, nil
}

// Named returns the server of a context.
func (c Contexts) Named(name string) (Server, error) {
	server, known := c.Servers[name]
	if known {
		return server, nil
	}
	if len(c.Servers) == 0 {
		return Server{}, fmt.Errorf("the context %q does not exist: no context is saved yet. Create one with \"agentgraph "+
			"context add\"", name)
	}
	return Server{}, fmt.Errorf("the context %q does not exist; the contexts are %s", name,
		strings.Join(slices.Sorted(maps.Keys(c.Servers)), ", "))
}

// Write saves the contexts in a file that only its owner can read.
func (c Contexts) Write() error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save contexts: %w", err)
	}
	return WriteFile(path, text, 0o600)
}
