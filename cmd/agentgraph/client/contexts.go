package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

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

// Flags select a server and a key for it.
type Flags struct {
	Context string
	URL     string
	APIKey  string
}

// Declare returns the flags.
func (f *Flags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.Context, Name: "context", Env: "AGENTGRAPH_CONTEXT", Placeholder: "NAME", Complete: CompleteContexts,
			Help: `Use the server and the key of this context. "agentgraph context list" shows all contexts.`},
		{Into: &f.URL, Name: "url", Env: "AGENTGRAPH_URL", Placeholder: "URL",
			Help: "Address of the server. Default: http://127.0.0.1:8080."},
		{Into: &f.APIKey, Name: "api-key", Env: "AGENTGRAPH_API_KEY", Placeholder: "KEY", Secret: true,
			Help: "API key of the company. Not needed with a context."},
	}
}

// localURL is the default address of "agentgraph dev".
const localURL = "http://127.0.0.1:8080"

// Connect returns a client for the server that the command line names.
func (f Flags) Connect(cmd *cobra.Command) (*Client, error) {
	server, err := f.server(cmd)
	if err == nil {
		err = server.Validate()
	}
	if err != nil {
		return nil, Exit(ExitUsage, err)
	}
	return server.connect("agentgraph/"+cli.Version(cmd), cmd.ErrOrStderr()), nil
}

// server returns the server from the first of these: the flags, a named context, the environment, the current context.
// The key of a context is only sent to the address of that context. Without a context, the address and the key may come
// from different sources: one from a flag, the other from the environment.
func (f Flags) server(cmd *cobra.Command) (Server, error) {
	// The command line overrides the environment.
	isGiven := cmd.Flags().Changed
	given := Server{URL: cmp.Or(strings.TrimSpace(f.URL), localURL), APIKey: strings.TrimSpace(f.APIKey)}
	if f.Context != "" && isGiven("context") && (isGiven("url") || isGiven("api-key")) {
		return Server{}, errors.New("--context cannot be combined with --url or --api-key")
	}
	if isGiven("url") || isGiven("api-key") || f.Context == "" && (f.URL != "" || f.APIKey != "") {
		return given, nil
	}
	contexts, err := ReadContexts()
	if err != nil && (f.Context != "" || !errors.Is(err, errNoDirectory)) {
		return Server{}, err
	}
	if name := cmp.Or(f.Context, contexts.Current); name != "" {
		return contexts.Named(name)
	}
	return given, nil
}

func (s Server) connect(agent string, log io.Writer) *Client {
	address := strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/graphql")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.OnProxyConnectResponse = checkProxy
	return &Client{address: address, agent: agent, key: s.APIKey, patience: Patience, log: log, http: &http.Client{
		Transport: transport,
		// Following a redirect could send the key to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}
