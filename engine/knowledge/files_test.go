package knowledge_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// A company with many slow files does not delay the files of other companies.
func TestFilesOfOneCompanyDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"A refund is paid within fourteen days."})
	const greedy = "company_greedy"
	for range 2 {
		leave, err := l.base.ReadFile(t.Context(), greedy)
		require.NoError(t, err)
		defer leave()
	}
	waiting, giveUp := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if _, err := l.base.ReadFile(waiting, greedy); err == nil {
				t.Error("a company reads three files at a time")
			}
		})
	}
	datasets, err := l.tenant.Datasets(t.Context(), model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	l.add(datasets.Nodes[0].ID, "more.csv", "We open at nine.")
	leave, err := l.base.ReadFile(t.Context(), l.tenant.CompanyID())
	require.NoError(t, err)
	busy, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.base.ReadFile(busy, "company_third")
	require.ErrorIs(t, err, context.Canceled, "a process reads three files at a time")
	leave()
	giveUp()
	others.Wait()
}
