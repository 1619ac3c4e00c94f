package client

import (
	"cmp"
	"errors"
	"net/http"

	"strings"

	"github.com/alecthomas/kong"
)

// Flags name a server and a key to it.
type Flags struct {
	Context string `env:"AGENTGRAPH_CONTEXT" placeholder:"NAME" help:"The server and the key of this context; \"agentgraph context list\" shows all."`
	URL     string `name:"url" env:"AGENTGRAPH_URL" placeholder:"URL" help:"Address of the server. Default: http://127.0.0.1:8080."`
	APIKey  string `env:"AGENTGRAPH_API_KEY" placeholder:"KEY" help:"API key of the company. The flag shows in process lists; rather set the variable, name a file with AGENTGRAPH_API_KEY_FILE, or use a context."`
}

// localURL is where "agentgraph dev" serves.
const localURL = "http://127.0.0.1:8080"

// Connect returns a client for the server that the command line names. The version is the program's.
func (f Flags) Connect(cli *kong.Context, version string) (*Client, error) {
	server, err := f.server(cli)
	if err == nil {
		err = server.Validate()
	}
	if err != nil {
		return nil, Exit(ExitUsage, err)
	}
	return server.connect("agentgraph/" + version), nil
}

// server returns what the flags say, else a context that is named, else what the environment says, else the current
// context. They are never mixed: a key must not go to a server that it does not belong to.
func (f Flags) server(cli *kong.Context) (Server, error) {
	given := Server{URL: cmp.Or(strings.TrimSpace(f.URL), localURL), APIKey: strings.TrimSpace(f.APIKey)}
	if f.Context != "" && isFlagGiven(cli, "context") && (isFlagGiven(cli, "url") || isFlagGiven(cli, "api-key")) {
		return Server{}, errors.New("--context excludes --url and --api-key")
	}
	if isFlagGiven(cli, "url") || isFlagGiven(cli, "api-key") || f.Context == "" && (f.URL != "" || f.APIKey != "") {
		return given, nil
	}
	contexts, err := ReadContexts()
	if err != nil {
		return Server{}, err
	}
	if name := cmp.Or(f.Context, contexts.Current); name != "" {
		return contexts.Named(name)
	}
	return given, nil
}

// isFlagGiven reports whether the flag stands on the command line.
func isFlagGiven(cli *kong.Context, name string) bool {
	for _, path := range cli.Path {
		if path.Flag != nil && path.Flag.Name == name && !path.Resolved {
			return true
		}
	}
	return false
}

func (s Server) connect(agent string) *Client {
	address := strings.TrimRight(s.URL, "/")
	if !strings.HasSuffix(address, "/graphql") {
		address += "/graphql"
	}
	return &Client{address: address, agent: agent, key: s.APIKey, http: &http.Client{
		// A redirect could take the key anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}
