package client

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

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
