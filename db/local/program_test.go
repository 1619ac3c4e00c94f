//go:build linux

package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram names an environment variable. If it is set to a directory, the test binary runs no tests: it runs a
// server there until its standard input ends. It prints the server's URL, or the error of Start.
const asProgram = "LOCAL_TEST_DIR"

func TestMain(m *testing.M) {
	// Even with the strictest mask, the server's user must be able to access its files.
	syscall.Umask(0o077)
	if dir := os.Getenv(asProgram); dir != "" {
		os.Exit(program(dir))
	}
	os.Exit(m.Run())
}

func program(dir string) int {
	s, err := Start(context.Background(), Options{Dir: dir, Durable: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// child is a process of the test binary that runs a server on a directory.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func startChild(t *testing.T, dir string, as *syscall.Credential) *child {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Chmod(binary, 0o755))
	// Unlike the path of the binary, this path works for every user.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/proc/self/exe")
	cmd.Env = append(os.Environ(), asProgram+"="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, stdin: stdin, out: bufio.NewReader(out)}
	t.Cleanup(func() { c.end() })
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

func (c *child) end() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait()
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // the error says that the process was killed
}
