package client

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// Exit codes of all commands.
const (
	// ExitDone means that it is done, and that tests passed.
	ExitDone = iota
	// ExitFailed means that it could not be done, or that tests failed.
	ExitFailed
	// ExitUsage means that the command line or the request is wrong.
	ExitUsage
	// ExitServer means that the server cannot be reached, refuses, or did not do its part.
	ExitServer
	// ExitCancelled means that somebody cancelled it.
	ExitCancelled
	// ExitInconclusive means that tests tell nothing.
	ExitInconclusive
	// ExitDiffers means that the server is not as the files say.
	ExitDiffers
)

// exitError is an error that decides the exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitCode returns the exit code of the program.
func (e *exitError) ExitCode() int { return e.code }

// ExitCoder is an error that decides the exit code of the program.
type ExitCoder interface {
	error
	ExitCode() int
}

// Exit gives an error its exit code.
func Exit(code int, err error) error { return &exitError{code, err} }

// ExitWith gives an error of a Client its exit code: ExitUsage if the request was wrong, ExitCancelled if ctx has
// ended, else ExitServer. An error that has a code keeps it.
func ExitWith(ctx context.Context, err error) error {
	var coded *exitError
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
