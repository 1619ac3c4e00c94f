// Package lazyregexp compiles regular expressions on first use, like the package of that name in Go's source. Most
// starts of the program need none, and compiling all takes a third of the time of `agentgraph version`.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// isTest makes New compile immediately, so that every test of a package fails on an invalid expression.
var isTest = strings.HasSuffix(os.Args[0], ".test")

// New returns a function that returns the compiled expression. It is safe for concurrent use. The function panics if
// the expression is invalid.
func New(expression string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	if isTest {
		compiled()
	}
	return compiled
}
