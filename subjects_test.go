package agentgraph

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hook and the check of CI count characters, whatever the shell and the locale count.
func TestSubjectsOfCommitsAreBounded(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/subjects.sh")
	require.NoError(t, err)
	for subject, isAllowed := range map[string]bool{
		strings.Repeat("x", 72): true, strings.Repeat("x", 73): false, strings.Repeat("é", 72): true,
		strings.Repeat("é", 73): false, strings.Repeat("語", 72): true, "Ends.": false,
	} {
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, "scripts"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "scripts/subjects.sh"), script, 0o600))
		message := filepath.Join(folder, "message")
		require.NoError(t, os.WriteFile(message, []byte("# A comment\n"+subject+"\n\nA body.\n"), 0o600))
		for _, line := range [][]string{
			{"git", "init", "--quiet"}, {"git", "commit", "--quiet", "--allow-empty", "--message=Start"},
			{"git", "commit", "--quiet", "--allow-empty", "--message=" + subject},
		} {
			output, err := runIn(t, folder, line...)
			require.NoError(t, err, output)
		}
		hook, err := filepath.Abs(".githooks/commit-msg")
		require.NoError(t, err)
		output, err := runIn(t, folder, "sh", hook, message)
		require.Equal(t, isAllowed, err == nil, output)
		output, err = runIn(t, folder, "sh", "scripts/subjects.sh", "HEAD~1..HEAD")
		require.Equal(t, isAllowed, err == nil, output)
	}
}

func runIn(t *testing.T, folder string, line ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), line[0], line[1:]...) //nolint:gosec // commands of this test
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c")
	output, err := command.CombinedOutput()
	return string(output), err
}
