package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elsewhere matches blocks that need another machine, a database of their own, or do not end by themselves.
var elsewhere = regexp.MustCompile(`^make run|bin:\$PATH|text/event-stream|subscription \(|--company "Your company"`)

// TestGuidesCanBeTyped types the blocks of guides beside a demo company. Each block must end without an error.
func TestGuidesCanBeTyped(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skip("the guides need " + program)
		}
	}
	dir := reachable(t)
	dev := onTerminal(t, []string{"PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}, "dev", "--port", "0", "--data-directory", dir,
		"--cors-origin", "https://www.example.com")
	defer dev.code()
	defer dev.press(t, "\x03")
	dev.await(t, "Stop with Ctrl+C.")
	url := regexp.MustCompile(`REST v1 +(\S+)`).FindStringSubmatch(dev.seen.String())[1]
	key, err := os.ReadFile(filepath.Join(dir, "demo-key"))
	require.NoError(t, err)

	for _, guide := range []string{"guides/run.md", "guides/query-agents.md", "guides/live-chat.md", "guides/campaigns.md",
		"guides/usage.md", "guides/webhooks.md", "reference/idempotency.md"} {
		s := newTyping(t, strings.NewReplacer("http://127.0.0.1:8080", url))
		_, code := s.enter(t, "export PATH=$PWD/bin:$PATH AGENTGRAPH_URL="+url+" AGENTGRAPH_API_KEY="+string(key)+
			"\nKEY=$AGENTGRAPH_API_KEY\nAGENT=$(agentgraph agents --name \"Clinic reception\" --json | jq -r '.[0].id')\n")
		require.Equal(t, "0", code, s.told)
		typed := 0
		for _, b := range blocksOf(t, "../../docs/"+guide) {
			if elsewhere.MatchString(b.commands) {
				continue
			}
			want := "0"
			if said := regexp.MustCompile(`The exit code is (\d)`).FindStringSubmatch(b.prose); said != nil {
				want = said[1]
			}
			told, code := s.enter(t, b.commands)
			require.Equal(t, want, code, "%s: %s\n%s", guide, b.commands, told)
			require.NotContains(t, told, `"errors"`, "%s: %s", guide, b.commands)
			typed++
		}
		require.Positive(t, typed, guide)
	}
}
