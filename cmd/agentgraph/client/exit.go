package client

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// Exit codes of all commands. ExitCodes documents them.
const (
	ExitDone = iota
	ExitFailed
	ExitUsage
	ExitServer
	ExitCancelled
	ExitInconclusive
	ExitDiffers
)

// ExitCodes documents each exit code in Markdown.
var ExitCodes = [...]string{
	ExitDone:   "Success; tests passed. `dev` and `serve` also end with 0 after SIGTERM or SIGINT.",
	ExitFailed: "The command failed, or tests failed.",
	ExitUsage:  "The command line or the request is invalid, or it names an object that does not exist.",
	ExitServer: "The server cannot be reached, refuses the key, or failed.",
	ExitCancelled: "Cancelled by Ctrl-C, SIGTERM, `--timeout` or on the server, or interrupted a second time; or " +
		"`--require-mocked` found tools that would be called for real.",
	ExitInconclusive: "Tests are inconclusive, `--corrected` has too few labels, or `knowledge evaluate` has no questions.",
	ExitDiffers:      "`diff` or `--dry-run` found that the server differs from the files.",
}

// ExitError is an error that determines the exit code of the program.
type ExitError struct {
	Code int
	err  error
}

func (e *ExitError) Error() string { return e.err.Error() }
func (e *ExitError) Unwrap() error { return e.err }

// Exit returns err with an exit code.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Cancelled returns ExitCancelled with a sentence about what holds now, if ctx has ended. Otherwise, and if err has a
// code, it returns err unchanged.
func Cancelled(ctx context.Context, err error, holds string) error {
	var coded *ExitError
	if err == nil || ctx.Err() == nil || errors.As(err, &coded) {
		return err
	}
	return Exit(ExitCancelled, errors.New("cancelled: "+holds))
}

// ExitWith returns an error of a Client with an exit code: ExitUsage if the request is wrong, ExitCancelled if ctx has
// ended, otherwise ExitServer. An error that already has a code is returned unchanged.
func ExitWith(ctx context.Context, err error) error {
	var coded *ExitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return Exit(ExitCancelled, errors.New("cancelled"))
	}
	switch CodeOf(err) {
	case model.NotFound, model.BadInput, model.Unprocessable, "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED":
		return Exit(ExitUsage, err)
	}
	return Exit(ExitServer, err)
}
