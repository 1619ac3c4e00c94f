package agenttest

import (
	"bytes"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

func TestProgressWithoutRoomForTheBarIsReadable(t *testing.T) {
	t.Parallel()
	screen, terminal, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(screen, &pty.Winsize{Rows: 24, Cols: 40}))
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = all.ReadFrom(screen) // fails when the terminal is closed
		shown <- all.String()
	}()
	p := newProgress(terminal, executionShown{Counts: countsShown{Total: 1, Running: 1}})
	p.changed(runShown{Status: "Passed"}, countsShown{Total: 1, Passed: 1})
	p.bar.Abort(false)
	p.bars.Wait()
	require.NoError(t, terminal.Close())
	text := <-shown
	require.NoError(t, screen.Close())
	require.Contains(t, text, "1/1 1 passed, 0 failed")
}
