// Package apply keeps a company as files: "agentgraph apply" makes a server as they say, "diff" tells what that would
// change, and "pull" writes them. It is a client of the API, and docs/agents-as-code.md describes the files.
package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// exitDiffers is the exit code of diff and of --dry-run when there is something to change.
const exitDiffers = 2

const firstWait = time.Second

// compared are the flags of what compares files with a server.
type compared struct {
	client.Flags
	File        []string `short:"f" env:"AGENTGRAPH_APPLY_FILE" placeholder:"PATH" help:"A YAML file, or a directory with such files; several with commas, or the flag again."`
	Prune       bool     `env:"AGENTGRAPH_APPLY_PRUNE" help:"Delete what the files do not name, of the lists that they have; campaigns are never deleted."`
	SendHeaders bool     `env:"AGENTGRAPH_APPLY_SEND_HEADERS" help:"Send the values of the headers of tools even where their names are as they were, as after a change of a secret."`
}

// plan reads the files and the server, and compares them.
func (c *compared) plan(ctx context.Context, cli *kong.Context, version string, onlyShow bool) (*api, *plan, error) {
	if len(c.File) == 0 {
		return nil, nil, client.Exit(client.ExitUsage, errors.New("--file must name a YAML file, or a directory with such files"))
	}
	sources, err := readSources(c.File)
	if err != nil {
		return nil, nil, client.Exit(client.ExitFailed, err)
	}
	server, there, err := connect(ctx, c.Flags, cli, version, kinds)
	if err != nil {
		return nil, nil, err
	}
	made, err := there.planFor(sources, options{c.Prune, c.SendHeaders, onlyShow})
	return server, made, err
}

// connect returns the server that the flags name, and what it has of the kinds.
func connect(ctx context.Context, flags client.Flags, cli *kong.Context, version string, of []*kind) (*api, *company, error) {
	connected, err := flags.Connect(cli, version)
	if err != nil {
		return nil, nil, err
	}
	server := &api{connected, firstWait}
	there, err := server.load(ctx, of)
	if err != nil {
		return nil, nil, client.ExitWith(ctx, err)
	}
	return server, there, nil
}

// planFor compares what files describe with what the server has.
func (c *company) planFor(sources []*source, o options) (*plan, error) {
	err := c.describe(sources)
	var made *plan
	if err == nil {
		made, err = c.plan(o)
	}
	if err != nil {
		return nil, client.Exit(client.ExitFailed, err)
	}
	return made, nil
}

// Diff tells what apply would change.
type Diff struct {
	compared
}

// Help shows how it is used.
func (*Diff) Help() string {
	return "Exit codes: 0 if nothing differs, 2 if something does, 1 if the files are wrong, 3 if the server refuses or cannot be reached."
}

// Run prints the differences.
func (c *Diff) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	_, made, err := c.plan(ctx, cli, vars["version"], true)
	if err != nil {
		return err
	}
	return made.tell(cli.Stdout)
}

// tell shows the plan and returns the exit code.
func (p *plan) tell(out io.Writer) error {
	p.show(out)
	if len(p.changes) > 0 {
		return client.Exit(exitDiffers, errors.New("the server is not as the files say"))
	}
	return nil
}

// Apply makes a server as files say.
type Apply struct {
	compared
	DryRun bool `env:"AGENTGRAPH_APPLY_DRY_RUN" help:"Only print what would change, as diff does."`
	Yes    bool `env:"AGENTGRAPH_APPLY_YES" help:"Do not ask before anything is deleted."`
	Schema bool `env:"AGENTGRAPH_APPLY_SCHEMA" help:"Print the JSON Schema of the files, for editors."`
}

// Help shows how it is used.
func (*Apply) Help() string {
	return "Everything is checked before anything is written. What failed halfway goes on when it is applied again."
}

// Run compares, and carries out what differs.
func (c *Apply) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	if c.Schema {
		_, err := cli.Stdout.Write(Schema)
		return err
	}
	server, made, err := c.plan(ctx, cli, vars["version"], c.DryRun)
	if err != nil {
		return err
	}
	if c.DryRun {
		return made.tell(cli.Stdout)
	}
	return carryOut(ctx, cli.Stdout, server, made, c.Prune, c.Yes)
}

// carryOut does what the plan says, and tells it.
func carryOut(ctx context.Context, out io.Writer, server *api, made *plan, prune, yes bool) error {
	if err := ask(ctx, out, made, prune, yes); err != nil {
		return err
	}
	told := map[*change]bool{}
	w := &writer{api: server, told: func(s step) {
		if told[s.change] {
			return
		}
		told[s.change] = true
		_, _ = fmt.Fprintf(out, "%s %s\n", signs[s.change.verb], s.change.thing)
	}}
	if err := w.write(ctx, made); err != nil {
		_, _ = fmt.Fprintf(out, "%d of %d steps were done; the rest is done when you do it again\n", w.done, len(made.steps))
		if client.IsTemporary(err) || ctx.Err() != nil {
			return client.ExitWith(ctx, err)
		}
		return client.Exit(client.ExitFailed, err)
	}
	_, _ = fmt.Fprintln(out, made.summary())
	return nil
}

// summary says what was done.
func (p *plan) summary() string {
	counts := map[string]int{}
	for _, ch := range p.changes {
		counts[ch.verb]++
	}
	if len(p.changes) == 0 {
		return "Nothing differs."
	}
	return fmt.Sprintf("%d created, %d changed, %d deleted", counts["create"], counts["change"], counts["delete"])
}

// ask asks before something is deleted.
func ask(ctx context.Context, out io.Writer, made *plan, prune, yes bool) error {
	isDeleting := slices.ContainsFunc(made.changes, func(ch *change) bool { return ch.verb == "delete" || prune && len(ch.gone) > 0 })
	if yes || !isDeleting {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return client.Exit(client.ExitUsage, errors.New("--prune needs --yes where nobody can be asked; --dry-run shows what it deletes"))
	}
	made.show(out)
	_, _ = fmt.Fprint(out, "Do all of this? [y/N] ")
	if !agrees(ctx, os.Stdin) {
		return client.Exit(client.ExitCancelled, errors.New("nothing was changed"))
	}
	return nil
}

// agrees reads a line, and reports whether it is a yes. It does not wait for the line when ctx ends.
func agrees(ctx context.Context, in io.Reader) bool {
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

// Pull writes a company as files.
type Pull struct {
	client.Flags
	Directory string `arg:"" type:"path" help:"Where to write; it is made if need be."`
	IDs       bool   `name:"ids" env:"AGENTGRAPH_PULL_IDS" help:"Write ids too: things can then be renamed, and may have the same names. Such files fit only this company."`
	Prune     bool   `env:"AGENTGRAPH_PULL_PRUNE" help:"Delete YAML files of the directory that pull does not write."`
}

// Help shows how it is used.
func (*Pull) Help() string {
	return "Pulling twice writes the same bytes. Values of tools' headers are secrets: ${NAME} stands in their place."
}

// Run reads the server and writes the files.
func (c *Pull) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	server, there, err := connect(ctx, c.Flags, cli, vars["version"], kinds)
	if err != nil {
		return err
	}
	files, err := there.files(c.IDs)
	if err != nil {
		return client.Exit(client.ExitFailed, err)
	}
	if err := there.checkDocuments(); err != nil {
		return client.Exit(client.ExitFailed, err)
	}
	if err := c.clear(files); err != nil {
		return client.Exit(client.ExitFailed, err)
	}
	for _, t := range there.things[dataset] {
		for _, d := range t.documentsByName() {
			if err := server.download(ctx, d.storedDocument, filepath.Join(c.Directory, knowledgeFolder, t.key, d.file)); err != nil {
				return client.ExitWith(ctx, err)
			}
		}
	}
	for _, f := range files {
		text, err := f.encode()
		if err != nil {
			return client.Exit(client.ExitFailed, err)
		}
		if err := os.WriteFile(filepath.Join(c.Directory, f.name), text, 0o644); err != nil {
			return client.Exit(client.ExitFailed, err)
		}
		_, _ = fmt.Fprintln(cli.Stdout, filepath.Join(c.Directory, f.name))
	}
	return os.WriteFile(filepath.Join(c.Directory, schemaFile), Schema, 0o644)
}

// clear makes the directory, and sees to it that it has no other YAML files, which apply would read too.
func (c *Pull) clear(files []written) error {
	if err := os.MkdirAll(c.Directory, 0o755); err != nil {
		return err
	}
	there, err := namesIn(c.Directory)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(there, func(name string) bool {
		return slices.ContainsFunc(files, func(f written) bool { return f.name == filepath.Base(name) })
	})
	if len(others) > 0 && !c.Prune {
		return fmt.Errorf("%s would be read besides what is pulled: delete it, pull into another directory, or use --prune", strings.Join(others, ", "))
	}
	for _, name := range others {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
