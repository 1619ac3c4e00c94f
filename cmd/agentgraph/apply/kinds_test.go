package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Files leave out members that have the default, so the defaults of checks must be those of the schema.
func TestChecksHaveTheDefaultsOfTheSchema(t *testing.T) {
	t.Parallel()
	decoded, err := decodeJSON(Schema)
	require.NoError(t, err)
	var compare func(s shape, described object)
	compare = func(s shape, described object) {
		if s.element != nil {
			compare(*s.element, described.object("items"))
		}
		for _, f := range s.members {
			property := described.object("properties").object(f.name)
			require.NotNil(t, property, f.name)
			if f.element == nil {
				initial, _ := property.get("default")
				require.Equal(t, initial, f.initial, "the default of %s in checkDefaults", f.name)
			}
			compare(f.shape, property)
		}
	}
	compare(*checks.element, decoded.(object).object("$defs").object("check"))
}
