-- Expands: Data that was extracted from the conversations of chats and test runs. A chat that has ended waits for its
-- extraction from extraction_at on. The index is small, because it contains only these chats.

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE simulation_chats
    ADD COLUMN IF NOT EXISTS extracted json,
    ADD COLUMN IF NOT EXISTS extraction_error text,
    ADD COLUMN IF NOT EXISTS extraction_at timestamptz;

ALTER TABLE agent_test_runs
    ADD COLUMN IF NOT EXISTS extracted json,
    ADD COLUMN IF NOT EXISTS extraction_error text;

DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_extraction_idx;

CREATE INDEX CONCURRENTLY simulation_chats_extraction_idx ON simulation_chats (company_id, id) WHERE extraction_at IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_extraction_idx;

ALTER TABLE simulation_chats
    DROP COLUMN IF EXISTS extracted,
    DROP COLUMN IF EXISTS extraction_error,
    DROP COLUMN IF EXISTS extraction_at;

ALTER TABLE agent_test_runs
    DROP COLUMN IF EXISTS extracted,
    DROP COLUMN IF EXISTS extraction_error;
