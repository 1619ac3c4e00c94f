package rules

import (
	"fmt"

	"github.com/agentgraph/agentgraph/model"
)

// Fault is the reason why a run has no verdict.
type Fault struct {
	model.RunError
	// Err is the underlying error, only for the log. It may be nil.
	Err error
}

func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Message
	}
	return fmt.Sprintf("%s (%v)", f.Message, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }

// LogText returns the cause. The message, which the run has, can quote criteria, checks and their values.
func (f *Fault) LogText() string { return fmt.Sprintf("the cause is %s", f.Cause) }

// NewFault returns a Fault. err may be nil.
func NewFault(cause model.RunErrorCause, err error, message string) *Fault {
	return &Fault{model.RunError{Cause: cause, Message: message}, err}
}

// FaultOfGateway returns the Fault for a failure of the gateway itself. err is only for the log.
func FaultOfGateway(err error) *Fault {
	return NewFault(model.RunErrorCauseInfrastructure, err, "something went wrong on the server, which is not the "+
		"agent's fault")
}
