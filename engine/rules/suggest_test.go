package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksAreSuggested(t *testing.T) {
	t.Parallel()
	targets := []Target{{Name: "get_order", Parameters: []string{"id"}}}
	const unsure = "calls get_order with id A-1 in a gracious fashion"
	suggested := Suggest(unsure, targets)
	require.NotNil(t, suggested)
	require.Equal(t, "get_order", *suggested.Called.TechnicalName)
	require.Equal(t, "id", suggested.Called.Where[0].Argument)
	require.Equal(t, "A-1", *suggested.Called.Where[0].Equals)
	said := Suggest(`gloriously says "Friday"`, targets)
	require.NotNil(t, said)
	require.Equal(t, "Friday", *said.Says.Text)
	quoted := Suggest(`works the words "behind the building" into the answer`, targets)
	require.NotNil(t, quoted)
	require.Equal(t, "behind the building", *quoted.Says.Text)
	for name, criterion := range map[string]string{
		"the program decides it":   "calls get_order with id A-1",
		"it mentions nothing":      "is friendly to the contact",
		"the contact says it":      `the contact gloriously says "Friday"`,
		"it is longer than a rule": unsure + strings.Repeat(" and waits", 50),
	} {
		require.Nil(t, Suggest(criterion, targets), name)
	}
}
