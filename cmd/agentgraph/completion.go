package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}."`
}

// scripts ask the program itself for the words that may follow, so they need not change with it. Each line of the answer
// is a word and, behind a tab, what it means. Without an answer the shells complete names of files.
var scripts = map[string]string{
	"bash": `_agentgraph() {
	local IFS=$'\n' words
	words=("${COMP_WORDS[@]:1:COMP_CWORD}")
	COMPREPLY=($("${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null | cut -f 1))
}
complete -o default -F _agentgraph agentgraph
`,
	"zsh": `#compdef agentgraph
_agentgraph() {
	local -a lines described
	local line
	lines=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	for line in $lines; do
		[[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( $#described )); then _describe agentgraph described; else _files; fi
}
if [[ $funcstack[1] == _agentgraph ]]; then _agentgraph "$@"; else compdef _agentgraph agentgraph; fi
`,
	"fish": `function __agentgraph_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c agentgraph -n 'test -n "$(__agentgraph_complete)"' -f -a '(__agentgraph_complete)'
`,
}

// Run prints the script.
func (c *completionCommand) Run(cli *kong.Context) error {
	_, err := fmt.Fprint(cli.Stdout, scripts[c.Shell])
	return err
}

type completeCommand struct {
	Words []string `arg:"" optional:""`
}

// Run prints what the last word may become.
func (c *completeCommand) Run(cli *kong.Context) error {
	for _, candidate := range completions(cli.Model.Node, c.Words) {
		if _, err := fmt.Fprintln(cli.Stdout, candidate); err != nil {
			return err
		}
	}
	return nil
}

// completions returns the commands, flags or values that may stand in place of the last word, each with its help.
func completions(node *kong.Node, words []string) []string {
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
		words = words[:len(words)-1]
	}
	var valueOf *kong.Flag
	for _, word := range words {
		if valueOf != nil {
			valueOf = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			valueOf = flagNamed(node, word)
			continue
		}
		if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
			node = node.Children[i]
		}
	}
	if valueOf != nil {
		return startingWith(last, valueOf.EnumSlice())
	}
	if strings.HasPrefix(last, "-") {
		return startingWith(last, flagsOf(node))
	}
	var candidates []string
	for _, child := range node.Children {
		if !child.Hidden {
			candidates = append(candidates, child.Name+"\t"+child.Help)
		}
	}
	for _, argument := range node.Positional {
		candidates = append(candidates, argument.EnumSlice()...)
	}
	return startingWith(last, candidates)
}

// flagNamed returns the flag if the next word is its value, else nil.
func flagNamed(node *kong.Node, word string) *kong.Flag {
	for _, flags := range node.AllFlags(false) {
		for _, flag := range flags {
			if "--"+flag.Name == word && !flag.IsBool() {
				return flag
			}
		}
	}
	return nil
}

func flagsOf(node *kong.Node) []string {
	var candidates []string
	for _, flags := range node.AllFlags(true) {
		for _, flag := range flags {
			candidates = append(candidates, "--"+flag.Name+"\t"+flag.Help)
		}
	}
	return candidates
}

func startingWith(beginning string, candidates []string) []string {
	return slices.DeleteFunc(candidates, func(candidate string) bool {
		return candidate == "" || !strings.HasPrefix(candidate, beginning)
	})
}
