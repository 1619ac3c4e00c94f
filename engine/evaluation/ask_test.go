package evaluation

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestInterruptedAnswersAreRequestedAgain(t *testing.T) {
	t.Parallel()
	cutOff := line{text: "I would li", err: &llm.Error{Cause: llm.CutOff, Message: "model x: cut"}}
	failed := line{text: "I would li", err: &llm.Error{Cause: llm.Unavailable, Message: "model x: an error in the stream"}}
	filtered := line{text: "I would li", err: &llm.Error{Cause: llm.Filtered, Message: "model x: filtered"}}
	unreached := line{err: &llm.Error{Cause: llm.Unavailable, Message: "model x: 503"}}
	whole := line{text: "I would like Monday"}
	for name, test := range map[string]struct {
		lines []line
		asked int
		fault string
	}{
		"once":                                 {[]line{cutOff, whole}, 2, ""},
		"twice":                                {[]line{cutOff, failed, whole}, 3, ""},
		"too often":                            {[]line{cutOff, cutOff, cutOff, whole}, 3, "the Simulator: model x: cut"},
		"what the same request cannot mend":    {[]line{filtered, whole}, 1, "the Simulator: model x: filtered"},
		"what the adapter has asked for again": {[]line{unreached, whole}, 1, "the Simulator: model x: 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &player{lines: test.lines}
				said, err := nextContactMessage(t.Context(), as(p, model.RunErrorCauseSimulator), ana, heardMonday, nil)
				require.Len(t, p.asked, test.asked)
				for _, req := range p.asked {
					require.Len(t, req.Messages, 1, "the broken answer is not repeated to the model")
				}
				if test.fault != "" {
					require.Equal(t, test.fault, requireRunFault(t, err, model.RunErrorCauseSimulator))
					return
				}
				require.NoError(t, err)
				require.Equal(t, contactMessage{text: whole.text}, said)
			})
		})
	}
}
