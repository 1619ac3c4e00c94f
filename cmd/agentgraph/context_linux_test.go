package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestContextKeyIsNotShown(t *testing.T) {
	t.Parallel()
	env := []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	add := onTerminal(t, env, "context", "add", "one", "--url", "http://127.0.0.1:1")
	add.await(t, "API key: ")
	require.Eventually(t, func() bool {
		settings, err := unix.IoctlGetTermios(int(add.keys.Fd()), unix.TCGETS)
		return err == nil && settings.Lflag&unix.ECHO == 0
	}, time.Minute, time.Millisecond, "what is typed is shown")
	add.press(t, "hunter2\n")
	require.Zero(t, add.code())
	require.Contains(t, add.seen.String(), "context one is http://127.0.0.1:1")
	require.NotContains(t, add.seen.String(), "hunter2")

	left := onTerminal(t, env, "context", "add", "two", "--url", "http://127.0.0.1:1")
	left.await(t, "API key: ")
	left.press(t, "\x03")
	require.Equal(t, 4, left.code(), "Ctrl-C")
	require.Contains(t, process(t, "", env, "context", "list").out, "one")
	require.NotContains(t, process(t, "", env, "context", "list").out, "two")
}
