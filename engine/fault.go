package engine

import (
	"fmt"

	"github.com/agentgraph/agentgraph/model"
)

// runFault is why a run has no verdict.
type runFault struct {
	model.RunError
	// err is the underlying error, only for the log. It may be nil.
	err error
}

func (f *runFault) Error() string {
	if f.err == nil {
		return f.Message
	}
	return fmt.Sprintf("%s (%v)", f.Message, f.err)
}

func (f *runFault) Unwrap() error { return f.err }

// faultOfGateway is a failure of the gateway itself. Its cause is only for the log.
func faultOfGateway(err error) *runFault {
	return &runFault{
		RunError: model.RunError{Cause: model.RunErrorCauseInfrastructure, Message: "something went wrong in the gateway, which is not the agent's fault"},
		err:      err,
	}
}
