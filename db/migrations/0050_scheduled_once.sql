-- Expands: A schedule starts one execution for a time, however many processes try. The index is built while everybody writes. A build
-- that failed leaves an index that nobody reads: the whole step is done again then, so it begins by dropping it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_schedule_key;

CREATE UNIQUE INDEX CONCURRENTLY agent_test_executions_schedule_key ON agent_test_executions (company_id, schedule_id, scheduled_for)
WHERE schedule_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_schedule_key;
