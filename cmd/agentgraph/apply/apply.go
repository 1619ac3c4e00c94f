// Package apply manages a company as files. "agentgraph apply" changes a server to match them, "diff" shows the
// differences, and "pull" writes the files. The package is a client of the API, and docs/guides/agents-as-code.md
// describes the files. Start reading at Apply.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// Commands returns the commands that manage a company as files, in the order of the help.
func Commands() []*cobra.Command { return []*cobra.Command{newApply(), newDiff(), newPull()} }

// TestCommands returns the subcommands of "test" that manage tests as files.
func TestCommands() []*cobra.Command {
	return []*cobra.Command{newTestExport(), newTestImport(), newTestDiff()}
}

// diffCodes documents the exit codes of diff.
const diffCodes = "Exit codes: 0 if nothing differs, 6 if something differs, 1 if the files are invalid, 2 if the " +
	"command line is invalid, 3 if the server cannot be reached or refuses the request."

// compareFlags has the flags of the commands that compare files with a server.
type compareFlags struct {
	client.Flags
	File        []string
	Path        []string
	JSON        bool
	Prune       bool
	SendHeaders bool
}

// paths is the argument of the commands that read files.
func (c *compareFlags) paths() []cli.Argument {
	return []cli.Argument{{Into: &c.Path, Name: "path", Optional: true,
		Help: "YAML files, or directories with such files."}}
}

func (c *compareFlags) Declare() cli.Flags {
	return slices.Concat(c.Flags.Declare(), cli.Flags{
		{Into: &c.File, Name: "file", Short: "f", Placeholder: "PATH", Help: "The same as the argument: a YAML file, or a " +
			"directory with such files; separate several with commas, or repeat the flag."},
		{Into: &c.JSON, Name: "json", Help: "Print JSON."},
		{Into: &c.Prune, Name: "prune", Help: "For each list in the files, delete the objects on the server that are " +
			"not in it. Campaigns are never deleted."},
		{Into: &c.SendHeaders, Name: "send-headers", Help: "Send tool header values even if the header names are " +
			"unchanged, for example after you rotate a secret."},
	})
}

// changeSet reads the files and the server, and compares them.
func (c *compareFlags) changeSet(cmd *cobra.Command, onlyShow bool) (*api, *changeSet, error) {
	places := c.Path
	// Paths on the command line override those from the environment.
	if len(places) == 0 || cmd.Flags().Changed("file") {
		places = append(places, c.File...)
	}
	if len(places) == 0 {
		return nil, nil, client.Exit(client.ExitUsage, errors.New("name a YAML file, or a directory with such files: "+
			"agentgraph "+cmd.Name()+" company/"))
	}
	sources, err := readSources(places)
	if err != nil {
		return nil, nil, err
	}
	connected, err := c.Connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	connected.RetryFor(client.Patience)
	server, there, err := read(cmd.Context(), connected, kinds)
	if err != nil {
		return nil, nil, err
	}
	made, err := there.planFor(sources, options{c.Prune, c.SendHeaders, onlyShow})
	return server, made, err
}

// connect returns the server that the flags name, and its resources of the selected kinds.
func connect(cmd *cobra.Command, flags client.Flags, selectedKinds []*kind) (*api, *company, error) {
	connected, err := flags.Connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	return read(cmd.Context(), connected, selectedKinds)
}

func read(ctx context.Context, connected *client.Client, selectedKinds []*kind) (*api, *company, error) {
	server := &api{connected}
	there, err := server.load(ctx, selectedKinds)
	if err != nil {
		return nil, nil, client.ExitWith(ctx, err)
	}
	return server, there, nil
}

// planFor compares the files with the server.
func (c *company) planFor(sources []*source, o options) (*changeSet, error) {
	if err := c.describe(sources); err != nil {
		return nil, err
	}
	return c.changes(o)
}

type diffCommand struct {
	compareFlags
}

func newDiff() *cobra.Command {
	c := &diffCommand{}
	return cli.New(c, &cobra.Command{
		Use: "diff", Short: "Show what apply would change.",
		Long:    diffCodes,
		Example: "agentgraph diff company/",
	}, c.paths(), &c.compareFlags)
}

func (c *diffCommand) Run(cmd *cobra.Command) error {
	_, made, err := c.changeSet(cmd, true)
	if err != nil {
		return err
	}
	return made.print(cmd.OutOrStdout(), c.JSON)
}

func (p *changeSet) print(out io.Writer, asJSON bool) error {
	if asJSON {
		if err := cli.WriteJSON(out, p.report()); err != nil {
			return err
		}
	} else {
		p.show(out)
	}
	if len(p.changes) > 0 {
		return client.Exit(client.ExitDiffers, errors.New("the server differs from the files: see the changes above"))
	}
	return nil
}

type applyCommand struct {
	compareFlags
	DryRun bool
	Yes    bool
	Schema bool
}

func newApply() *cobra.Command {
	c := &applyCommand{}
	return cli.New(c, &cobra.Command{
		Use: "apply", Short: "Change a server's agents, tools, knowledge, tests and campaigns so that they match the files.",
		Long: "The command checks everything before it writes anything. If it fails halfway, run it again.",
		Example: `agentgraph apply company/ --dry-run
agentgraph apply company/`,
	}, c.paths(), &c.compareFlags, cli.Flags{
		{Into: &c.DryRun, Name: "dry-run", Help: "Print what would change, like diff, without changing it."},
		{Into: &c.Yes, Name: "yes", Help: "Do not ask before deleting."},
		{Into: &c.Schema, Name: "schema", Help: "Print the JSON Schema of the files, for editors."},
	})
}

// Run compares the files with the server, and applies the differences.
func (c *applyCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	if c.Schema {
		_, err := cmd.OutOrStdout().Write(Schema)
		return err
	}
	server, changeset, err := c.changeSet(cmd, c.DryRun)
	if err != nil {
		return err
	}
	if c.DryRun {
		return changeset.print(cmd.OutOrStdout(), c.JSON)
	}
	if !c.JSON {
		return applyChanges(ctx, cmd.OutOrStdout(), server, changeset, c.Prune, c.Yes)
	}
	// Prompts and progress go to standard error, because standard output has only the JSON.
	err = applyChanges(ctx, cmd.ErrOrStderr(), server, changeset, c.Prune, c.Yes)
	return errors.Join(cli.WriteJSON(cmd.OutOrStdout(), changeset.report()), err)
}

// applyChanges applies the change set, after a confirmation of deletions. It prints each change after its first step,
// and the warnings and notes at the end.
func applyChanges(ctx context.Context, out io.Writer, server *api, changeset *changeSet, prune, yes bool) error {
	if err := confirmDeletions(ctx, out, changeset, prune, yes); err != nil {
		return err
	}
	reported := map[*change]bool{}
	w := &writer{api: server, onStep: func(s step) {
		if reported[s.change] {
			return
		}
		reported[s.change], s.change.isDone = true, true
		_, _ = fmt.Fprintf(out, "%s %s\n", verbSymbols[s.change.verb], s.change.resource)
		s.change.showHeaders(out)
		if s.change.verb == "change" {
			s.change.showDocuments(out)
		}
	}}
	if err := w.write(ctx, changeset); err != nil {
		_, _ = fmt.Fprintf(out, "%d of %d steps were done; run the command again for the rest\n",
			w.done, len(changeset.steps))
		if client.IsTemporary(err) || ctx.Err() != nil {
			return client.ExitWith(ctx, err)
		}
		return client.Exit(client.ExitFailed, err)
	}
	if err := changeset.warn(ctx, out, server); err != nil {
		return client.ExitWith(ctx, err)
	}
	_, _ = fmt.Fprintln(out, changeset.summary())
	showNotes(out, changeset.notes)
	return nil
}

// confirmDeletions asks for confirmation if something would be deleted.
func confirmDeletions(ctx context.Context, out io.Writer, changeset *changeSet, prune, yes bool) error {
	isDeleting := slices.ContainsFunc(changeset.changes, func(ch *change) bool {
		return ch.verb == "delete" || prune && len(ch.deletedDocuments) > 0
	})
	if yes || !isDeleting {
		return nil
	}
	if !cli.IsTerminal(os.Stdin) {
		return client.Exit(client.ExitUsage, errors.New("without a terminal, --prune needs --yes; --dry-run shows what "+
			"--prune would delete"))
	}
	changeset.show(out)
	_, _ = fmt.Fprint(out, "Apply these changes? [y/N] ")
	if !cli.Confirm(ctx, os.Stdin) {
		return client.Exit(client.ExitCancelled, errors.New("nothing was changed"))
	}
	return nil
}

type pullCommand struct {
	client.Flags
	Directory string
	File      string
	IDs       bool
	Prune     bool
}

func newPull() *cobra.Command {
	c := &pullCommand{}
	return cli.New(c, &cobra.Command{
		Use: "pull", Short: "Write a server's agents, tools, knowledge, tests and campaigns as files for apply.",
		Long: "Pulling twice writes the same bytes. The values of tool headers are secrets, so the files contain " +
			"${TOOL_NAME_HEADER} instead.",
		Example: "agentgraph pull company/",
	}, []cli.Argument{
		{Into: &c.Directory, Name: "directory", Optional: true, Help: "The directory to write. The command creates it " +
			"if it is missing."},
	}, &c.Flags, cli.Flags{
		{Into: &c.File, Name: "file", Short: "f", Placeholder: "DIRECTORY", Help: "The same as the argument."},
		{Into: &c.IDs, Name: "ids", Default: "true", Negatable: true, Help: "Write ids, so that objects can be renamed " +
			"in the files. A server that does not know an id finds the object by its name."},
		{Into: &c.Prune, Name: "prune", Help: "Delete the other YAML files in the directory."},
	})
}

// Validate requires exactly one directory, as the argument or the flag.
func (c *pullCommand) Validate() error {
	if (c.Directory == "") == (c.File == "") {
		return errors.New("name one directory: agentgraph pull company/")
	}
	return nil
}

// Run reads the server and writes the files.
func (c *pullCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	c.Directory = cli.ExpandPath(cmp.Or(c.Directory, c.File))
	server, current, err := connect(cmd, c.Flags, kinds)
	if err != nil {
		return err
	}
	files := current.files(c.IDs)
	current.noteDocuments()
	showNotes(cmd.ErrOrStderr(), current.notes)
	root, err := c.clear(files)
	if err != nil {
		return client.Exit(client.ExitFailed, err)
	}
	defer func() { _ = root.Close() }()
	for _, t := range current.resources[dataset] {
		for _, d := range t.pulledDocuments() {
			if err := server.download(ctx, d.storedDocument, root, filepath.Join(knowledgeFolder, t.key, d.file)); err != nil {
				return client.ExitWith(ctx, err)
			}
		}
	}
	for _, f := range files {
		text, err := f.encode()
		if err != nil {
			return client.Exit(client.ExitFailed, err)
		}
		if err := writeWithin(root, f.name, text); err != nil {
			return client.Exit(client.ExitFailed, err)
		}
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(c.Directory, f.name))
	}
	return writeWithin(root, schemaFile, Schema)
}

// clear creates and opens the directory. It refuses YAML files that pull does not write, since apply would read them
// too; with --prune it deletes them.
func (c *pullCommand) clear(files []outputFile) (*os.Root, error) {
	if err := os.MkdirAll(c.Directory, 0o755); err != nil {
		return nil, err
	}
	there, err := namesIn(c.Directory)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(there, func(name string) bool {
		return slices.ContainsFunc(files, func(f outputFile) bool { return f.name == filepath.Base(name) })
	})
	if len(others) > 0 && !c.Prune {
		return nil, fmt.Errorf("apply would read %s in addition to the pulled files: delete it, pull into another "+
			"directory, or use --prune", strings.Join(others, ", "))
	}
	for _, name := range others {
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(c.Directory)
}
