-- Expands: A schedule starts one execution for each time, however many processes try. The index is built while other
-- sessions write. A failed build leaves an invalid index, so the step drops it before it starts again.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_schedule_key;

CREATE UNIQUE INDEX CONCURRENTLY agent_test_executions_schedule_key ON agent_test_executions (company_id, schedule_id, scheduled_for)
WHERE schedule_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_schedule_key;
