-- Expands: What judged conversations again is found by the execution and the run that held them, also when these are deleted. The indexes are
-- built while everybody writes. A build that failed leaves an index that nobody reads: the whole step is done again then, so
-- it begins by dropping them.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_rejudge_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_rejudge_idx ON agent_test_executions (company_id, rejudge_of_id) WHERE rejudge_of_id IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_rejudge_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_rejudge_idx ON agent_test_runs (company_id, rejudge_of_id) WHERE rejudge_of_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_rejudge_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_rejudge_idx;
