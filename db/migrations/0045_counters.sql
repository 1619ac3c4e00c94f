-- Expands: Counters. The transactions that change the counted rows also change the counters, because they lock that row
-- anyway. A campaign counts its items in each state, archived ones in the second half. The counts are valid if
-- counted_at equals version + revision, so a change by an older program invalidates them. A finished execution counts
-- its runs by final status. If these counts are NULL, the runs are counted one by one.

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE campaigns ADD COLUMN IF NOT EXISTS item_counts int[], ADD COLUMN IF NOT EXISTS counted_at int;

ALTER TABLE agent_test_executions
    ADD COLUMN IF NOT EXISTS passed_runs int,
    ADD COLUMN IF NOT EXISTS failed_runs int,
    ADD COLUMN IF NOT EXISTS error_runs int,
    ADD COLUMN IF NOT EXISTS cancelled_runs int,
    ADD COLUMN IF NOT EXISTS skipped_runs int;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_totals_idx ON agent_test_executions (company_id, passed_runs, failed_runs, error_runs, cancelled_runs, skipped_runs, run_count);

-- The new index also serves sums of run_count.
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_run_count_idx ON agent_test_executions (company_id, run_count);

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx;

ALTER TABLE agent_test_executions
    DROP COLUMN IF EXISTS passed_runs,
    DROP COLUMN IF EXISTS failed_runs,
    DROP COLUMN IF EXISTS error_runs,
    DROP COLUMN IF EXISTS cancelled_runs,
    DROP COLUMN IF EXISTS skipped_runs;

ALTER TABLE campaigns DROP COLUMN IF EXISTS item_counts, DROP COLUMN IF EXISTS counted_at;
