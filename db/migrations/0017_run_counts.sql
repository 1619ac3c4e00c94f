-- How many runs an execution was created with. Runs are neither added nor removed later, so a company's runs are counted by
-- its executions. NULL stands for one whose runs are to be counted one by one: it was not finished when this step was
-- done, or a program of before has created it.

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE agent_test_executions ADD COLUMN IF NOT EXISTS run_count int;

-- Executions that are finished do not change any more, so nobody waits.
UPDATE agent_test_executions SET run_count = counted.runs
FROM (SELECT company_id, execution_id, count(*) AS runs FROM agent_test_runs GROUP BY company_id, execution_id) AS counted
WHERE agent_test_executions.company_id = counted.company_id AND agent_test_executions.id = counted.execution_id
    AND agent_test_executions.finished_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_run_count_idx ON agent_test_executions (company_id, run_count);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_run_count_idx;

ALTER TABLE agent_test_executions DROP COLUMN IF EXISTS run_count;
