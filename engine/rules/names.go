package rules

import (
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// targetNames are the names of targets and of their parameters, in lower case.
type targetNames map[string]*parameterNames

type parameterNames struct {
	written []string
	// words has the words of each name. It is nil until it is needed.
	words map[string]bool
}

func namesOf(targets []Target) targetNames {
	names := make(targetNames, len(targets))
	for _, t := range targets {
		name := strings.ToLower(t.Name)
		if names[name] == nil {
			names[name] = &parameterNames{}
		}
		names[name].written = append(names[name].written, t.Parameters...)
	}
	return names
}

func (n targetNames) has(name string) bool { return n[strings.ToLower(name)] != nil }

// hasParameter reports whether a target has a parameter with the words of a name.
func (n targetNames) hasParameter(target, name string) bool {
	known := n[strings.ToLower(target)]
	if known == nil {
		return false
	}
	if known.words == nil {
		known.words = make(map[string]bool, len(known.written))
		for _, parameter := range known.written {
			known.words[wordsOfName(parameter)] = true
		}
	}
	return known.words[wordsOfName(name)]
}

// isSameName reports whether two names have the same words: "orderId" and "order id".
func isSameName(one, other string) bool { return wordsOfName(one) == wordsOfName(other) }

// wordsOfName returns the words of a name, separated by spaces. If there are none, it returns the name in lower case.
func wordsOfName(name string) string {
	if words := read.NameWords(name); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.ToLower(name)
}
