-- Since when a test fails is found by its last run that passed and its first one that failed after that, however many
-- there are. The index is built while everybody writes. A build that failed leaves an index that nobody reads: the whole
-- step is done again then, so it begins by dropping it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_judged_idx ON agent_test_runs (company_id, test_id, status, created_at DESC, id DESC)
WHERE status IN ('Passed', 'Failed') AND is_draft IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_judged_idx;
