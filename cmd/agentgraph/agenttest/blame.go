package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

type blameCommand struct {
	client.Flags
	cli.OutputFlag
	Test      string
	Repeat    int
	Yes       bool
	Markdown  string
	Reconnect time.Duration
}

func newBlameCommand() *cobra.Command {
	c := &blameCommand{}
	return cli.New(c, &cobra.Command{
		Use: "blame", Short: "Show which words of the prompt a red test lost, and search for the change that broke it.",
		Example: `agentgraph test blame "Says where to park"
agentgraph test blame "Says where to park" --repeat 10 --yes`,
	}, []cli.Argument{
		{Into: &c.Test, Name: "test", Complete: c.CompleteNames(client.Tests),
			Help: "A red test, by its name, a part of the name, or its id."},
	}, &c.Flags, cli.Flags{
		{Into: &c.Repeat, Name: "repeat", Default: "5", Help: "The number of runs in each step of the search, 4 to 20."},
		{Into: &c.Yes, Name: "yes", Help: "Search without asking."},
		{Into: &c.Markdown, Name: "markdown", Placeholder: "FILE", Help: "Write the result in Markdown, for a comment " +
			"on a pull request."},
		{Into: &c.Reconnect, Name: "reconnect", Default: "1m",
			Help: "How long to retry requests while the server cannot be reached, or answers with a temporary error."},
	}, &c.OutputFlag)
}

func (c *blameCommand) Validate() error {
	return cmp.Or(
		cli.Refuse(c.Repeat < 4 || c.Repeat > 20, "--repeat must be 4 to 20"),
		cli.Refuse(c.Reconnect < 0, "--reconnect must not be negative"),
		checkWritable("--markdown", c.Markdown),
	)
}

// Run shows why a test is red. If the user agrees, it searches for the cause and returns the verdict as the exit code.
func (c *blameCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	server.RetryFor(c.Reconnect)
	if err := removeReport(c.Markdown); err != nil {
		return client.Exit(client.ExitServer, err)
	}
	found, err := server.FindByPart(ctx, client.Tests, c.Test)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	test, err := readBlame(ctx, server, found.ID, c.Repeat, c.JSON)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	if test.Blame == nil {
		return client.Exit(client.ExitUsage, fmt.Errorf("the test %q is not red: its newest judged run must have failed, "+
			"and an earlier one passed", client.Printable(test.Name)))
	}
	out := cmd.OutOrStdout()
	if c.JSON {
		out = io.Discard
	}
	b, style := test.Blame, client.StyleOf(out)
	if _, err := io.WriteString(out, test.describe(style)); err != nil {
		return err
	}
	outcome := error(nil)
	switch n := len(b.Changes); {
	case c.Yes && n == 0:
		outcome = errNotExplained()
	case c.Yes && n > model.MaxBlameChanges:
		outcome = client.Exit(client.ExitUsage, fmt.Errorf("the prompts differ in %d changes, and a search can examine at "+
			"most %d", n, model.MaxBlameChanges))
	}
	if c.confirmSearch(ctx, cmd, out, b) {
		if outcome = c.search(ctx, server, out, test); b.Search == nil {
			return outcome
		}
		_, _ = io.WriteString(out, b.Search.conclusion(style))
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.Markdown != "" {
		outcome = errors.Join(outcome, client.WriteFile(c.Markdown, []byte(test.markdown()), 0o644))
	}
	if c.JSON {
		outcome = errors.Join(outcome, cli.WriteJSON(cmd.OutOrStdout(), test))
	}
	return outcome
}

// confirmSearch reports whether to search. It asks on a terminal.
func (c *blameCommand) confirmSearch(ctx context.Context, cmd *cobra.Command, out io.Writer, b *blameShown) bool {
	switch {
	case !b.isSearchable():
		return false
	case c.Yes:
		return true
	case !cli.IsTerminal(cmd.InOrStdin()) || !cli.IsTerminal(out):
		_, _ = io.WriteString(out, "Search for the cause with --yes\n")
		return false
	}
	_, _ = io.WriteString(out, "Search for the cause? [y/N] ")
	return cli.Confirm(ctx, cmd.InOrStdin())
}

const startBlameDocument = blameFields + `mutation ($input: StartBlameInput!) {
	startBlame(input: $input) { search { ...search } }
}`

const cancelBlameDocument = blameFields + `mutation ($id: ID!) {
	cancelBlame(input: {searchId: $id}) { search { ...search } }
}`

const blameUpdatedDocument = blameFields + `subscription ($id: ID!) { blameUpdated(searchId: $id) { ...search } }`

// search starts a search, shows its steps, and returns its outcome as the exit code. It cancels the search when ctx
// ends.
func (c *blameCommand) search(ctx context.Context, server *client.Client, out io.Writer, test *blamedTest) error {
	var started struct{ StartBlame struct{ Search *searchShown } }
	longer, stop := outlive(ctx)
	defer stop()
	err := start(ctx, server, startBlameDocument, client.Variables{"testId": test.ID, "repeats": c.Repeat}, &started)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	test.Blame.Search = started.StartBlame.Search
	shown := 0
	err = c.follow(ctx, server, test.Blame.Search.ID, func(s *searchShown) {
		test.Blame.Search = s
		for ; shown < len(s.Steps) && s.Steps[shown].Judged != nil; shown++ {
			_, _ = io.WriteString(out, s.step(shown))
		}
	})
	if ctx.Err() != nil {
		var cancelled struct{ CancelBlame struct{ Search *searchShown } }
		err := server.Mutate(longer, cancelBlameDocument, client.Variables{"id": test.Blame.Search.ID}, nil, &cancelled)
		switch {
		case client.CodeOf(err) == model.Conflict:
			return client.Exit(client.ExitCancelled, fmt.Errorf("the command was interrupted, but the search %s had ended",
				test.Blame.Search.ID))
		case err != nil:
			return client.Exit(client.ExitCancelled, fmt.Errorf("the search %s could not be cancelled, and may continue on "+
				"the server: %w", test.Blame.Search.ID, err))
		}
		test.Blame.Search = cancelled.CancelBlame.Search
		return client.Exit(client.ExitCancelled, errors.New("the search was cancelled"))
	}
	if err != nil {
		return client.Exit(client.ExitServer, err)
	}
	return test.Blame.Search.outcome()
}

// follow passes every state of a search to the function each, until the search ends. It reconnects for as long as
// --reconnect allows.
func (c *blameCommand) follow(ctx context.Context, server *client.Client, id string, each func(*searchShown)) error {
	isEnded, lost := false, time.Time{}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := server.Subscribe(ctx, client.Request{Query: blameUpdatedDocument, Variables: client.Variables{"id": id}},
			func(data json.RawMessage) error {
				var event struct{ BlameUpdated *searchShown }
				if err := json.Unmarshal(data, &event); err != nil {
					return err
				}
				wait, lost, isEnded = firstWait, time.Time{}, event.BlameUpdated.Status != "Running"
				each(event.BlameUpdated)
				return nil
			})
		switch {
		case isEnded || ctx.Err() != nil:
			return nil //nolint:nilerr // it is no failure if the search ended or the user stopped following it
		case err != nil && !client.IsTemporary(err):
			return err
		case lost.IsZero():
			lost = time.Now()
		case time.Since(lost) > c.Reconnect:
			return fmt.Errorf("the search %s continues on the server, but its result could not be read: %w", id,
				cmp.Or(err, errors.New("the server ended the stream of events")))
		}
		if pause(ctx, wait) != nil {
			return nil //nolint:nilerr // the user stopped following
		}
	}
}

func (s *searchShown) outcome() error {
	switch {
	case s.Status == "Cancelled":
		return client.Exit(client.ExitCancelled, errors.New("the search was cancelled"))
	case s.Status != "Completed":
		return client.Exit(client.ExitServer, fmt.Errorf("the search failed: %s", client.Printable(orDash(s.Error))))
	case *s.Verdict == string(model.BlameVerdictFound):
		return nil
	case *s.Verdict == string(model.BlameVerdictUndecided):
		return client.Exit(client.ExitInconclusive, errors.New("the runs do not decide what broke the test"))
	}
	return errNotExplained()
}

func errNotExplained() error {
	return client.Exit(client.ExitFailed, errors.New("the prompt does not explain the failure"))
}
