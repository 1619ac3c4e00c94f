package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/program"
)

// writeRelease writes the files that packages install with the program. In dir, the folder man gets a manual page for
// each command. The folder completions gets a completion script for each shell, with the name that the shell expects.
// version is that of a release, such as v1.2.3.
func writeRelease(dir, version string) {
	root := program.New(version)
	root.DisableAutoGenTag = true // so that two builds of one release are equal
	manual := filepath.Join(dir, "man")
	if err := os.MkdirAll(manual, 0o755); err != nil { //nolint:gosec // for everybody
		log.Fatal(err)
	}
	header := doc.GenManHeader{Section: "1", Source: "agentgraph " + version, Manual: "agentgraph"}
	if err := doc.GenManTree(root, &header, manual); err != nil {
		log.Fatal(err)
	}
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
