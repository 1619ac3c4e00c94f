-- Expands: Soft deletion. Deleted rows are marked, and later removed in parts. An older program shows marked rows until
-- they are removed. Lists are counted by index-only scans, and the indexes leave out marked rows.

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE agents ADD COLUMN IF NOT EXISTS deleted_at timestamptz;

ALTER TABLE campaigns ADD COLUMN IF NOT EXISTS deleted_at timestamptz;

ALTER TABLE agent_tests ADD COLUMN IF NOT EXISTS deleted_at timestamptz;

ALTER TABLE agent_test_executions ADD COLUMN IF NOT EXISTS deleted_at timestamptz;

DROP INDEX CONCURRENTLY IF EXISTS agents_deleted_idx;

CREATE INDEX CONCURRENTLY agents_deleted_idx ON agents (company_id, id) WHERE deleted_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS campaigns_deleted_idx;

CREATE INDEX CONCURRENTLY campaigns_deleted_idx ON campaigns (company_id, id) WHERE deleted_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_deleted_idx;

CREATE INDEX CONCURRENTLY agent_tests_deleted_idx ON agent_tests (company_id, id) WHERE deleted_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_deleted_idx;

CREATE INDEX CONCURRENTLY agent_test_executions_deleted_idx ON agent_test_executions (company_id, id) WHERE deleted_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agents_list_idx_new;

CREATE INDEX CONCURRENTLY agents_list_idx_new ON agents (company_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS agents_list_idx;

ALTER INDEX IF EXISTS agents_list_idx_new RENAME TO agents_list_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_agent_idx_new;

CREATE INDEX CONCURRENTLY agent_tests_agent_idx_new ON agent_tests (company_id, agent_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_agent_idx;

ALTER INDEX IF EXISTS agent_tests_agent_idx_new RENAME TO agent_tests_agent_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx_new;

CREATE INDEX CONCURRENTLY agent_test_executions_totals_idx_new ON agent_test_executions (company_id, passed_runs, failed_runs, error_runs, cancelled_runs, skipped_runs, run_count)
    WHERE deleted_at IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx;

ALTER INDEX IF EXISTS agent_test_executions_totals_idx_new RENAME TO agent_test_executions_totals_idx;

-- Without statistics, Postgres would assume that nearly all rows are marked.
ANALYZE agents (deleted_at);

ANALYZE campaigns (deleted_at);

ANALYZE agent_tests (deleted_at);

ANALYZE agent_test_executions (deleted_at);

-- +goose Down
-- The previous version must not show marked rows, so they are deleted.
DELETE FROM agent_test_runs AS run USING agent_test_executions AS deleted
WHERE deleted.company_id = run.company_id AND deleted.id = run.execution_id AND deleted.deleted_at IS NOT NULL;

DELETE FROM agent_test_executions WHERE deleted_at IS NOT NULL;

UPDATE agent_test_runs AS run SET test_id = NULL FROM agent_tests AS deleted
WHERE deleted.company_id = run.company_id AND deleted.id = run.test_id AND deleted.deleted_at IS NOT NULL;

DELETE FROM agent_tests WHERE deleted_at IS NOT NULL;

DELETE FROM campaigns WHERE deleted_at IS NOT NULL;

UPDATE agent_test_executions AS execution SET agent_id = NULL FROM agents AS deleted
WHERE deleted.company_id = execution.company_id AND deleted.id = execution.agent_id AND deleted.deleted_at IS NOT NULL;

DELETE FROM agents WHERE deleted_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agents_list_idx_new;

CREATE INDEX CONCURRENTLY agents_list_idx_new ON agents (company_id, created_at DESC, id DESC);

DROP INDEX CONCURRENTLY IF EXISTS agents_list_idx;

ALTER INDEX IF EXISTS agents_list_idx_new RENAME TO agents_list_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_agent_idx_new;

CREATE INDEX CONCURRENTLY agent_tests_agent_idx_new ON agent_tests (company_id, agent_id, created_at DESC, id DESC);

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_agent_idx;

ALTER INDEX IF EXISTS agent_tests_agent_idx_new RENAME TO agent_tests_agent_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx_new;

CREATE INDEX CONCURRENTLY agent_test_executions_totals_idx_new ON agent_test_executions (company_id, passed_runs, failed_runs, error_runs, cancelled_runs, skipped_runs, run_count);

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_totals_idx;

ALTER INDEX IF EXISTS agent_test_executions_totals_idx_new RENAME TO agent_test_executions_totals_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_test_executions_deleted_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_tests_deleted_idx;

DROP INDEX CONCURRENTLY IF EXISTS campaigns_deleted_idx;

DROP INDEX CONCURRENTLY IF EXISTS agents_deleted_idx;

ALTER TABLE agent_test_executions DROP COLUMN IF EXISTS deleted_at;

ALTER TABLE agent_tests DROP COLUMN IF EXISTS deleted_at;

ALTER TABLE campaigns DROP COLUMN IF EXISTS deleted_at;

ALTER TABLE agents DROP COLUMN IF EXISTS deleted_at;
