-- Expands: The indexes find the executions and runs that judge earlier conversations again, by the execution and run
-- that held them. Deletions need them, too. The indexes are built while other sessions write. A failed build leaves an
-- invalid index, so the step drops each index before it builds it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_rejudge_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_rejudge_idx ON agent_test_executions (company_id, rejudge_of_id) WHERE rejudge_of_id IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_rejudge_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_rejudge_idx ON agent_test_runs (company_id, rejudge_of_id) WHERE rejudge_of_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_rejudge_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_rejudge_idx;
