-- Expands: Since when a row of a test fails is found as it is of a test, and whether a name is taken by the names of an agent's tests. The
-- indexes are built while everybody writes. A build that failed leaves an index that nobody reads: the whole step is done again
-- then, so it begins by dropping it. The judged runs have their old index until the new one is there.

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
