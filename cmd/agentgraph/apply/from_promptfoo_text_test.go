package apply

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVariablesOfVariablesAreBounded(t *testing.T) {
	t.Parallel()
	for fault, bag := range map[string]object{
		"vars: variables still refer to each other after they were filled in 10 times": {
			{"a", "{{b}}"}, {"b", "{{c}}"}, {"c", "{{a}}"}},
		"vars.b: it has more than 1048576 bytes after its variables are filled in": {
			{"a", strings.Repeat("é", 1<<18)}, {"b", "{{a}}{{a}}{{a}}"}},
	} {
		_, _, err := resolveVariables(bag)
		require.EqualError(t, err, fault)
	}
}
