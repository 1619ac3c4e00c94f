package agenttest

import "fmt"

type checkShown struct {
	Check    describedCheck  `json:"check"`
	Expected string          `json:"expected"`
	Passed   bool            `json:"passed"`
	Observed string          `json:"observed"`
	Evidence []evidenceShown `json:"evidence"`
}

type describedCheck struct {
	Description string `json:"description"`
	Weight      *int   `json:"weight"`
}

type criterionShown struct {
	Criterion string          `json:"criterion"`
	Expected  string          `json:"expected"`
	Weight    *int            `json:"weight"`
	Passed    bool            `json:"passed"`
	Applies   bool            `json:"applies"`
	Agreement *float64        `json:"agreement,omitempty"`
	Rationale string          `json:"rationale"`
	Evidence  []evidenceShown `json:"evidence"`
}

type evidenceShown struct {
	MessageIndex int    `json:"messageIndex"`
	Quote        string `json:"quote"`
	// Kind is Said, Called or Result. It is nil in verdicts of older versions, which did not store it.
	Kind *string `json:"kind"`
}

// place returns where in the conversation the quote occurs.
func (e evidenceShown) place() string {
	switch {
	case e.Kind != nil && *e.Kind == "Called":
		return fmt.Sprintf("tool call before message %d", e.MessageIndex)
	case e.Kind != nil && *e.Kind == "Result":
		return fmt.Sprintf("tool result before message %d", e.MessageIndex)
	}
	return fmt.Sprintf("message %d", e.MessageIndex)
}
