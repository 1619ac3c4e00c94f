-- Expands: The indexes find since when a row of a test has been failing, and whether a test of an agent has a name. The
-- indexes are built while other sessions write. A failed build leaves an invalid index, so the step drops each index
-- before it builds it. The judged runs keep their old index until the new one is complete.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_rows_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_judged_rows_idx ON agent_test_runs (company_id, test_id, row_key, status, created_at DESC, id DESC)
WHERE status IN ('Passed', 'Failed') AND is_draft IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_name_idx;

CREATE INDEX CONCURRENTLY agent_tests_name_idx ON agent_tests (company_id, agent_id, name);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_tests_name_idx;

CREATE INDEX CONCURRENTLY IF NOT EXISTS agent_test_runs_judged_idx ON agent_test_runs (company_id, test_id, status, created_at DESC, id DESC)
WHERE status IN ('Passed', 'Failed') AND is_draft IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_rows_idx;
