package apply

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The demo's files have this format, plus members from which the demo generates its history.
func TestDemoFilesUseThisFormat(t *testing.T) {
	t.Parallel()
	more := map[string][]string{
		"": {"name", "history", "usage", "plan", "deletedAgents"}, "agents": {"earlierPrompts"},
		"simulations":     {"key", "expect"},
		"classifications": {"key", "expect"},
		"campaigns": {"status", "createdDaysAgo", "begunDaysAgo", "endedDaysAgo", "contacts", "numbers", "values",
			"said", "outcomes", "failures"},
	}
	files, err := filepath.Glob("../demo/merrowby/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 15)
	files = append(files, "../demo/tansy_lane/company.yaml")
	for _, file := range files {
		if filepath.Base(file) == "samples.yaml" { // results of the demo's tools, which no company has
			continue
		}
		read, err := readSource(file, file)
		require.NoError(t, err)
		read.content = withoutExtras("", read.content, more).(object)
		require.Empty(t, checkSource(read))
	}
}

// withoutExtras removes the extra members from a value. more maps each list to the extra members of its elements.
func withoutExtras(in string, value any, more map[string][]string) any {
	switch v := value.(type) {
	case list:
		l := list{}
		for _, one := range v {
			l = append(l, withoutExtras(in, one, more))
		}
		return l
	case object:
		for _, name := range more[in] {
			v = v.without(name)
		}
		o := object{}
		for _, m := range v {
			o = append(o, member{m.name, withoutExtras(m.name, m.value, more)})
		}
		return o
	}
	return value
}
