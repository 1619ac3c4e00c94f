package apply

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// testsAtOnce is how many tests one request checks.
const testsAtOnce = 50

const obstaclesDocument = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on AgentTest { obstacles } } }`

// warn prints why written tests cannot run as described, and records these warnings.
func (p *changeSet) warn(ctx context.Context, out io.Writer, server *api) error {
	var tests []*resource
	for _, ch := range p.changes {
		if ch.resource.kind.isTest() && ch.verb != "delete" {
			tests = append(tests, ch.resource)
		}
	}
	for some := range slices.Chunk(tests, testsAtOnce) {
		ids := make([]string, len(some))
		for i, test := range some {
			ids[i] = test.id
		}
		var read struct {
			Nodes []*struct{ Obstacles []string }
		}
		if err := server.Query(ctx, obstaclesDocument, client.Variables{"ids": ids}, &read); err != nil {
			return fmt.Errorf("everything was applied, but the warnings about the tests could not be read: %w", err)
		}
		for i, node := range read.Nodes {
			if node == nil {
				continue // the test has been deleted since
			}
			for _, obstacle := range node.Obstacles {
				text := fmt.Sprintf("%s: %s", some[i], client.Printable(obstacle))
				p.warnings = append(p.warnings, text)
				_, _ = fmt.Fprintln(out, "Warning:", text)
			}
		}
	}
	return nil
}

// summary returns how much was changed, and the number of warnings.
func (p *changeSet) summary() string {
	if len(p.changes) == 0 {
		return "Nothing differs."
	}
	text := fmt.Sprintf("%d created, %d changed, %d deleted", p.count("create"), p.count("change"), p.count("delete"))
	if n := len(p.warnings); n > 0 {
		text += ", " + client.Pluralize(n, "warning")
	}
	return text
}
