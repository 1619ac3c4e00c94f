package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type contextAdd struct {
	Name string
	URL  string
}

func newContextAdd() *cobra.Command {
	c := &contextAdd{}
	return cli.New(c, &cobra.Command{
		Use: "add", Short: "Save a server and its key under a name. The command reads the key from standard input.",
		Example: "agentgraph context add staging --url https://staging.example.com < key-file",
	}, []cli.Argument{
		{Into: &c.Name, Name: "name", Help: "The name of the context."},
	}, cli.Flags{
		{Into: &c.URL, Name: "url", Env: "AGENTGRAPH_URL", Required: true, Placeholder: "URL",
			Help: "Address of the server."},
	})
}

// Run saves the server and its key. The first saved context becomes the current one.
func (c *contextAdd) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	key, err := readKey(ctx, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	server := client.Server{URL: strings.TrimSpace(c.URL), APIKey: key}
	if err := server.Validate(); err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	contexts, err := client.ReadContexts()
	if err != nil {
		return err
	}
	contexts.Servers[c.Name] = server
	if contexts.Current == "" {
		contexts.Current = c.Name
	}
	if err := contexts.Write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "context %s is %s\n", c.Name, server.URL)
	return err
}

// readKey reads a key from standard input, without echo on a terminal. Reads cannot be interrupted, so the read is
// abandoned when ctx ends.
func readKey(ctx context.Context, in io.Reader, prompt io.Writer) (string, error) {
	type line struct {
		text []byte
		err  error
	}
	readLine := func() ([]byte, error) { return bufio.NewReader(in).ReadBytes('\n') }
	restore := func() error { return nil }
	if input, isFile := in.(*os.File); isFile && term.IsTerminal(int(input.Fd())) {
		terminal := int(input.Fd())
		before, err := term.GetState(terminal)
		if err != nil {
			return "", fmt.Errorf("read the API key: %w", err)
		}
		restore = func() error { return term.Restore(terminal, before) }
		defer func() { _, _ = fmt.Fprintln(prompt) }()
		_, _ = fmt.Fprint(prompt, "API key: ")
		readLine = func() ([]byte, error) { return term.ReadPassword(terminal) }
	}
	read := make(chan line, 1)
	go func() {
		text, err := readLine()
		read <- line{text, err}
	}()
	select {
	case got := <-read:
		key := strings.TrimSpace(strings.TrimPrefix(string(got.text), "\ufeff")) // PowerShell pipes a byte order mark
		if key == "" {
			return "", client.Exit(client.ExitUsage, errors.New("standard input is empty; it must hold the API key"))
		}
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", fmt.Errorf("read the API key: %w", got.err)
		}
		return key, nil
	case <-ctx.Done():
		return "", client.Exit(client.ExitCancelled, errors.Join(errors.New("cancelled"), restore()))
	}
}

type contextUse struct {
	Name string
}

func newContextUse() *cobra.Command {
	c := &contextUse{}
	return cli.New(c, &cobra.Command{
		Use: "use", Short: "Make this server the default for commands.",
		Example: "agentgraph context use staging",
	}, []cli.Argument{
		{Into: &c.Name, Name: "name", Complete: client.CompleteContexts, Help: "The name of the context."},
	})
}

func (c *contextUse) Run(cmd *cobra.Command) error {
	contexts, err := client.ReadContexts()
	if err != nil {
		return err
	}
	server, err := contexts.Named(c.Name)
	if err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	contexts.Current = c.Name
	if err := contexts.Write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "context %s is in use: %s\n", c.Name, server.URL)
	return err
}

type contextList struct {
	cli.OutputFlag
}

func newContextList() *cobra.Command {
	c := &contextList{}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List the contexts; a star marks the one in use.",
		Example: "agentgraph context list",
	}, nil, &c.OutputFlag)
}

type contextShown struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	InUse bool   `json:"inUse"`
}

// Run prints the contexts without their keys.
func (c *contextList) Run(cmd *cobra.Command) error {
	contexts, err := client.ReadContexts()
	if err != nil {
		return err
	}
	shown, table := []contextShown{}, [][]string{}
	for _, name := range slices.Sorted(maps.Keys(contexts.Servers)) {
		url, mark := contexts.Servers[name].URL, " "
		if name == contexts.Current {
			mark = "*"
		}
		shown = append(shown, contextShown{name, url, name == contexts.Current})
		table = append(table, []string{mark + " " + name, url})
	}
	return c.Print(cmd.OutOrStdout(), shown, table)
}

type contextRemove struct {
	Name string
}

func newContextRemove() *cobra.Command {
	c := &contextRemove{}
	return cli.New(c, &cobra.Command{
		Use: "remove", Short: "Remove a context and its key.",
		Example: "agentgraph context remove staging",
	}, []cli.Argument{
		{Into: &c.Name, Name: "name", Complete: client.CompleteContexts, Help: "The name of the context."},
	})
}

func (c *contextRemove) Run(cmd *cobra.Command) error {
	contexts, err := client.ReadContexts()
	if err != nil {
		return err
	}
	if _, err := contexts.Named(c.Name); err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	delete(contexts.Servers, c.Name)
	if contexts.Current == c.Name {
		contexts.Current = ""
	}
	if err := contexts.Write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "context %s was removed\n", c.Name)
	return err
}
