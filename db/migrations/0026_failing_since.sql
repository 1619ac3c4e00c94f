-- The index finds the last passed run of a test and the first failed run after it, however many runs there are. The
-- index is built while other sessions write. A failed build leaves an invalid index, so the step drops it before it
-- starts again.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_judged_idx ON agent_test_runs (company_id, test_id, status, created_at DESC, id DESC)
WHERE status IN ('Passed', 'Failed') AND is_draft IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_idx;
