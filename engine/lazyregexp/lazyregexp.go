// Package lazyregexp compiles regular expressions when they are first used, as Go's own package of that name does: most
// starts of the program need none of them, and all together take a third of a start that only says a version.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// isTest: what is wrong with an expression has to show in each test of its package.
var isTest = strings.HasSuffix(os.Args[0], ".test")

// New returns a function that returns the expression, which must be valid. It is safe for concurrent use.
func New(expression string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	if isTest {
		compiled()
	}
	return compiled
}
