-- The number of runs with which an execution was created. Runs are neither added nor removed later, so the executions
-- give the number of a company's runs. If it is NULL, the runs are counted one by one: the execution was not finished
-- at the time of this step, or an older program created it.

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE agent_test_executions ADD COLUMN IF NOT EXISTS run_count int;

-- Finished executions do not change any more, so no other statement waits.
UPDATE agent_test_executions SET run_count = counted.runs
FROM (SELECT company_id, execution_id, count(*) AS runs FROM agent_test_runs GROUP BY company_id, execution_id) AS counted
WHERE agent_test_executions.company_id = counted.company_id AND agent_test_executions.id = counted.execution_id
    AND agent_test_executions.finished_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_run_count_idx ON agent_test_executions (company_id, run_count);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

ALTER TABLE agent_test_executions DROP COLUMN IF EXISTS run_count;
