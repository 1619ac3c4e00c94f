package gateway

import (
	"fmt"

	"github.com/coder/websocket"
)

// closure is the protocol's code and reason with which the server closes a socket.
type closure struct {
	code   websocket.StatusCode
	reason string
}

// The closures of the protocol. Code compares their addresses and never changes them.
var (
	closeDraining    = &closure{websocket.StatusGoingAway, "The server is shutting down"}
	closeBroken      = &closure{websocket.StatusInternalError, "Internal error"}
	closeTryLater    = &closure{websocket.StatusTryAgainLater, "The credential could not be checked. Try again later"}
	closeInvalid     = &closure{4400, "Invalid message"}
	closeNotInit     = &closure{4401, "Unauthorized"}
	closeForbidden   = &closure{4403, "Forbidden"}
	closeSubprotocol = &closure{4406, "Subprotocol not acceptable"}
	closeInitTimeout = &closure{4408, "Connection initialisation timeout"}
	closeDuplicate   = &closure{4409, "Subscriber for this id already exists"}
	closeBusy        = &closure{websocket.StatusPolicyViolation,
		fmt.Sprintf("More than %d pings, pongs and \"complete\" messages between two server pings", maxControlMessages)}
	closeNoMemory  = &closure{websocket.StatusTryAgainLater, "Too many large messages of the company are in progress"}
	closeInitTwice = &closure{4429, "Too many initialisation requests"}
)
