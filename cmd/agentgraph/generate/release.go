package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/program"
)

// writeRelease writes the files that packages install with the program. In dir, the folder man gets a manual page for
// each command. The folder completions gets a completion script for each shell, with the name that the shell expects.
// version is the version of a release, such as v1.2.3.
func writeRelease(dir, version string) {
	root := program.New(version)
	manual := filepath.Join(dir, "man")
	if err := os.MkdirAll(manual, 0o755); err != nil { //nolint:gosec // for everybody
		log.Fatal(err)
	}
	writeManual(root, manual, buildDate())
	completions := filepath.Join(dir, "completions")
	if err := os.MkdirAll(completions, 0o755); err != nil { //nolint:gosec // for everybody
		log.Fatal(err)
	}
	for shell, name := range map[string]string{
		"bash": "agentgraph.bash", "zsh": "_agentgraph", "fish": "agentgraph.fish", "powershell": "agentgraph.ps1",
	} {
		var script bytes.Buffer
		command := program.New(version)
		command.SetOut(&script)
		command.SetArgs([]string{"completion", shell})
		if err := command.Execute(); err != nil {
			log.Fatal(err)
		}
		path := filepath.Join(completions, name)
		if err := os.WriteFile(path, script.Bytes(), 0o644); err != nil { //nolint:gosec // for everybody
			log.Fatal(err)
		}
	}
}

// writeManual writes the manual pages of a command and its subcommands to dir.
func writeManual(cmd *cobra.Command, dir, date string) {
	path := filepath.Join(dir, cli.ManualName(cmd)+".1")
	if err := os.WriteFile(path, []byte(cli.Manual(cmd, date)), 0o644); err != nil { //nolint:gosec // for everybody
		log.Fatal(err)
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			writeManual(child, dir, date)
		}
	}
}

// buildDate returns the day in SOURCE_DATE_EPOCH, so that two builds of one release are equal, or else today.
func buildDate() string {
	date := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0)
	}
	return date.UTC().Format(time.DateOnly)
}
