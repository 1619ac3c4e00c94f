package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// block is a block of commands in a document, its documented output, and the prose after it.
type block struct{ commands, printed, prose string }

// blocksOf reads the blocks of a document that are marked as sh. Blocks marked as text or json, and unmarked blocks,
// are the output of the commands before them. Blocks marked as console are not typed, and their output is ignored.
func blocksOf(t *testing.T, path string) []block {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var blocks []block
	isTyped := false
	for i, part := range regexp.MustCompile("(?m)^```").Split(string(text), -1) {
		language, rest, _ := strings.Cut(part, "\n")
		last := len(blocks) - 1
		switch isFenced := i%2 == 1; {
		case isFenced && language == "sh":
			blocks, isTyped = append(blocks, block{commands: rest}), true
		case isFenced && language == "console":
			isTyped = false
		case isTyped && isFenced && (language == "" || language == "text" || language == "json"):
			blocks[last].printed += rest
		case last >= 0 && !isFenced:
			blocks[last].prose += rest
		}
	}
	return blocks
}

// typing is a shell that runs the blocks of a document.
type typing struct {
	dir    string
	stdin  io.Writer
	stdout *bufio.Reader
	// output is the file that stdout reads.
	output *os.File
	// local replaces values of the document, such as an address, with local values.
	local *strings.Replacer
	// lastOutput is the output of the last commands.
	lastOutput string
}

func newTyping(t *testing.T, local *strings.Replacer) *typing {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, os.Args[0])
	for _, path := range []string{"bin/agentgraph", "agentgraph"} {
		//nolint:gosec // A program has to be executable.
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(program), 0o700))
	}
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Dir = dir
	stdin, err := shell.StdinPipe()
	require.NoError(t, err)
	stdout, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = shell.Wait()
	})
	_, err = io.WriteString(stdin, "exec 2>&1; trap 'kill $(jobs -p)' EXIT\n")
	require.NoError(t, err)
	return &typing{dir: dir, stdin: stdin, stdout: bufio.NewReader(stdout), output: stdout.(*os.File), local: local}
}

var ownID = regexp.MustCompile(`(?m)^([A-Z]+=)([a-z]+_)\w+( +# the id from your own answer)$`)

// enter runs commands for at most a minute, and returns their output and exit code.
func (s *typing) enter(t *testing.T, commands string) (output, code string) {
	t.Helper()
	commands = ownID.ReplaceAllStringFunc(s.local.Replace(commands), func(line string) string {
		parts := ownID.FindStringSubmatch(line)
		return parts[1] + regexp.MustCompile(parts[2]+`\w{26}`).FindString(s.lastOutput)
	})
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "typed"), []byte(commands), 0o600))
	_, err := io.WriteString(s.stdin, ". '"+s.dir+"/typed' </dev/null; code=$?; echo; echo \"exit code $code\"\n")
	require.NoError(t, err)
	require.NoError(t, s.output.SetReadDeadline(time.Now().Add(time.Minute)))
	s.lastOutput = ""
	for {
		line, err := s.stdout.ReadString('\n')
		require.NoError(t, err, "%s\n%s", commands, s.lastOutput)
		if code, isEnd := strings.CutPrefix(line, "exit code "); isEnd {
			return s.lastOutput, strings.TrimSpace(code)
		}
		s.lastOutput += line
	}
}

// changing matches values that differ between runs: keys, console codes, ids, times, durations and the version of the
// build.
var changing = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:.]+Z|` +
	`\bag_\w{26}_\w+|#code=\S+|(?:\b[a-z]+_)[0-9a-hjkmnp-tv-z]{26}\b|\b\d+(?:\.\d+)?m?s\b|(?m:^agentgraph \(\w+\)$)`)

// requirePrinted requires that the output contains the documented output. An ellipsis at the end of a documented line
// stands for the rest of the line, or for whole lines. If there is one, the documented lines may occur in any order.
func requirePrinted(t *testing.T, printed, output string) {
	t.Helper()
	printed, output = changing.ReplaceAllString(printed, "<>"), changing.ReplaceAllString(output, "<>")
	if !strings.Contains(printed, "…\n") {
		require.Contains(t, output, strings.TrimSpace(printed))
		return
	}
	for line := range strings.Lines(printed) {
		require.Contains(t, output, strings.TrimSuffix(strings.TrimSpace(line), "…"))
	}
}

// wanted has the documented exit code of the commands.
func (b block) wanted() string {
	if said := regexp.MustCompile(`The exit code is (\d)`).FindStringSubmatch(b.prose); said != nil {
		return said[1]
	}
	return "0"
}

// needs skips the test if a program that documents use is missing, except in CI.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skip("the documents need " + program)
		}
	}
}

var restURL = regexp.MustCompile(`REST v1 +(\S+)`)

// onDev runs the command dev on a terminal until the test ends. It returns the data directory, the banner and the
// address of the server.
func onDev(t *testing.T, flags ...string) (dir, banner, url string) {
	t.Helper()
	dir = reachable(t)
	dev := onTerminal(t, []string{"PATH=" + os.Getenv("PATH"), "NO_COLOR=1"},
		append([]string{"dev", "--port", "0", "--data-directory", dir}, flags...)...)
	t.Cleanup(func() {
		dev.press(t, "\x03")
		dev.code()
	})
	dev.await(t, "Stop with Ctrl+C.")
	banner = strings.ReplaceAll(dev.seen.String(), "\r", "")
	return dir, banner, restURL.FindStringSubmatch(banner)[1]
}

// This test types the README's commands in order, and requires the documented output.
func TestReadmePrintsAsDocumented(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl")
	blocks := blocksOf(t, "../../README.md")
	require.Contains(t, blocks[0].commands, "make run ")
	dir, banner, url := onDev(t)
	const documented, directory = "http://127.0.0.1:8080", "/var/lib/agentgraph"
	requirePrinted(t, blocks[0].printed, strings.NewReplacer(url, documented, dir, directory).Replace(banner))

	s := newTyping(t, strings.NewReplacer(documented, url, directory, dir))
	for _, b := range blocks[1:] {
		output, code := s.enter(t, b.commands)
		require.Equal(t, b.wanted(), code, "%s\n%s", b.commands, output)
		requirePrinted(t, b.printed, output)
	}
}

// This test types each guide into a new shell in an empty directory. All guides share one server with the demo company.
func TestGuides(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl", "jq")
	dir, _, url := onDev(t, "--tool-allow", "127.0.0.1", "--cors-origin", "https://www.example.com")
	key, err := os.ReadFile(filepath.Join(dir, "demo-key"))
	require.NoError(t, err)
	pages, err := filepath.Glob("../../docs/guides/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, path := range pages {
		t.Run(filepath.Base(path), func(t *testing.T) {
			blocks := blocksOf(t, path)
			if len(blocks) == 0 {
				return
			}
			database := ""
			if slices.ContainsFunc(blocks, func(b block) bool { return strings.Contains(b.commands, "postgres://…") }) {
				database = dbtest.EmptyURL(t)
			}
			local := strings.NewReplacer("http://127.0.0.1:8080", url, "postgres://…", "'"+database+"'",
				"/var/lib/agentgraph", dir)
			s := newTyping(t, local)
			_, code := s.enter(t, fmt.Sprintf("export PATH='%s/bin':$PATH AGENTGRAPH_URL=%s AGENTGRAPH_API_KEY=%s KEY=%[3]s\n"+
				"AGENT=$(agentgraph agents --name 'Clinic reception' --json | jq -r '.[0].id')\nmkdir page && cd page", s.dir, url, strings.TrimSpace(string(key))))
			require.Equal(t, "0", code)
			for _, b := range blocks {
				output, code := s.enter(t, b.commands)
				require.Equal(t, b.wanted(), code, "%s\n%s", b.commands, output)
				requirePrinted(t, local.Replace(b.printed), output)
			}
		})
	}
}
