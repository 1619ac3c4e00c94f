package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// testBudget is a budget that counts reserved rows and statements. It refuses rows that are larger than the bytes left,
// and statements beyond maxStatements.
type testBudget struct{ left, rows, statements, maxStatements int }

func (p *testBudget) Reserve(bytes int) error {
	if p.rows++; bytes > p.left {
		return fmt.Errorf("spending: %w", model.ErrTooLarge)
	}
	p.left -= bytes
	return nil
}

func (p *testBudget) CountStatement() error {
	if p.statements++; p.left < 0 || p.maxStatements > 0 && p.statements > p.maxStatements {
		return fmt.Errorf("asking: %w", model.ErrTooLarge)
	}
	return nil
}

// Every way to read reserves bytes row by row, and stops when the budget is used up.
func TestRowsAreChargedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	const agents, prompt = 20, 40_000
	ids := make([]string, agents)
	for i := range ids {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: "Agent", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: strings.Repeat("p", prompt),
		})
		require.NoError(t, err)
		ids[i] = agent.ID
	}
	page := model.PageArgs{First: agents}
	for name, read := range map[string]func(p *testBudget) error{
		"a list": func(p *testBudget) error {
			_, err := tenant.Agents(model.WithMemoryBudget(t.Context(), p), page, nil)
			return err
		},
		"by ids": func(p *testBudget) error {
			_, err := findPrepared(model.WithMemoryBudget(t.Context(), p), tenant, db.AgentRows, ids)
			return err
		},
		"lists of parents": func(p *testBudget) error {
			_, err := tenant.FindPages(model.WithMemoryBudget(t.Context(), p), db.PromptVersionsOfAgents, nil, ids, page)
			return err
		},
	} {
		enough := &testBudget{left: agents * prompt * 4}
		require.NoError(t, read(enough), name)
		require.EqualValues(t, agents, enough.rows, name)
		require.Less(t, enough.left, agents*prompt, "%s: the bytes of the prompts count", name)

		short := &testBudget{left: 5 * prompt}
		require.True(t, errors.Is(read(short), model.ErrTooLarge), name)
		require.Less(t, short.rows, 6, "%s: nothing is read after it", name)
		require.NoError(t, read(&testBudget{left: agents * prompt * 4}), "%s: the connection can be used again", name)
	}
}

// A statement that the budget refuses gives back its connection and its slot.
func TestRefusedStatementsHoldNoConnection(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	ctx, cancel := context.WithTimeout(pg.WithSlots(t.Context()), dbtest.WaitTimeout)
	defer cancel()
	refusing := model.WithMemoryBudget(ctx, &testBudget{left: -1})
	for range 20 {
		_, err := tenant.Agents(refusing, model.PageArgs{First: 1}, nil)
		require.ErrorIs(t, err, model.ErrTooLarge)
		_, err = findPrepared(refusing, tenant, db.AgentRows, []string{"a"})
		require.ErrorIs(t, err, model.ErrTooLarge)
	}
	_, err := tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
}

// One response counts a list once for each filter, and not for another filter.
func TestSharedCountsDependOnTheFilter(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	dbtest.Tests(t, tenant, 3, 1)
	ctx := pg.WithSharedCounts(t.Context())
	for name, want := range map[string]int32{"Test 0": 1, "Test": 3, "none": 0} {
		page, err := tenant.AgentTests(ctx, model.PageArgs{First: 1}, nil,
			model.AgentTestFilter{NameContains: &name})
		require.NoError(t, err)
		count, err := page.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, want, count, name)
	}
}

// Once the budget is used up, the remaining rows of a result are not received.
func TestRowsBeyondTheBudgetAreNotReceived(t *testing.T) {
	t.Parallel()
	address, _, passed := proxied(t, dbtest.URL(t))
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	const agents, bytes = 100, 200_000
	ids := make([]string, agents)
	for i := range ids {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: "Agent", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: strings.Repeat("𝄞", bytes/4),
		})
		require.NoError(t, err)
		ids[i] = agent.ID
	}
	for name, read := range map[string]func(ctx context.Context) error{
		"a list": func(ctx context.Context) error {
			_, err := tenant.Agents(ctx, model.PageArgs{First: agents}, nil)
			return err
		},
		"by ids": func(ctx context.Context) error {
			_, err := findPrepared(ctx, tenant, db.AgentRows, ids)
			return err
		},
	} {
		before := passed.Load()
		require.ErrorIs(t, read(model.WithMemoryBudget(t.Context(), &testBudget{left: bytes})), model.ErrTooLarge, name)
		require.Less(t, passed.Load()-before, int64(agents*bytes*3/4), "%s: most bytes are not sent", name)
		require.NoError(t, read(t.Context()), name)
	}
}

// Deleting tests, or the rows that contain them, does not read their content.
func TestDeletedRowsAreNotRead(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	folder, err := tenant.CreateAgentTestFolder(t.Context(), model.CreateAgentTestFolderInput{AgentID: agent.ID,
		Name: "Large", Color: "#336699"})
	require.NoError(t, err)
	ids := make([]string, 10)
	for i := range ids {
		ids[i] = newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
			in.Name, in.FolderID = fmt.Sprint("Large ", i), &folder.ID
			in.ConversationContext = []*model.TestMessage{{Role: model.MessageRoleUser, Text: strings.Repeat("x", 10_000)}}
		}).ID
	}
	ctx := model.WithMemoryBudget(t.Context(), &testBudget{left: 50_000})
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids,
		Repeats: 1, Concurrency: 1, Votes: new(int32(1))})
	require.NoError(t, err)
	_, err = tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: execution.ID})
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteAgentTestFolder(ctx, folder.ID))
	require.NoError(t, tenant.DeleteAgentTests(ctx, ids[:5]))
	require.NoError(t, tenant.DeleteAgent(ctx, agent.ID))
}

// Every way to start an execution refuses tests that are too large together.
func TestExecutionOfTooLargeTestsIsRefused(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	messages := make([]*model.TestMessage, 100)
	for i := range messages {
		messages[i] = &model.TestMessage{Role: []model.MessageRole{model.MessageRoleUser, model.MessageRoleAssistant}[i%2],
			Text: strings.Repeat("x", 10_000)}
	}
	large := newSimulationTest(t, tenant, agent.ID,
		func(in *model.CreateSimulationTestInput) { in.ConversationContext = messages })
	rows, err := conn.Query(t.Context(),
		`INSERT INTO agent_tests SELECT (jsonb_populate_record(test, jsonb_build_object('id', test.id || n, 'name',
			test.name || n))).*
		FROM agent_tests AS test, generate_series(1, $2) AS n WHERE test.id = $1
			RETURNING id`, large.ID, model.MaxTestsBytes/1_000_000+1)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	start := func(ids []string) error {
		_, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids, Repeats: 1,
			Concurrency: 1, Votes: new(int32(1))})
		return err
	}
	require.EqualError(t, start(ids), "the tests of an execution have at most about 20000000 bytes together: start "+
		"fewer or smaller tests")
	require.NoError(t, start(ids[2:]))
}

// Every way to read counts a statement before sending it. A statement beyond the budget is not sent.
func TestStatementsAreCountedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	for name, read := range map[string]func(ctx context.Context) error{
		"a list": func(ctx context.Context) error {
			_, err := tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
			return err
		},
		"by ids": func(ctx context.Context) error {
			_, err := findPrepared(ctx, tenant, db.AgentRows, []string{agent.ID})
			return err
		},
	} {
		p := &testBudget{left: 1 << 20, maxStatements: 2}
		for _, ctx := range []context.Context{model.WithMemoryBudget(t.Context(), p),
			pg.WithSlots(model.WithMemoryBudget(t.Context(), p))} {
			require.NoError(t, read(ctx), name)
		}
		require.Equal(t, 2, p.statements, name)
		rows := p.rows
		require.ErrorIs(t, read(model.WithMemoryBudget(t.Context(), p)), model.ErrTooLarge, name)
		require.Equal(t, rows, p.rows, name)
	}
}
