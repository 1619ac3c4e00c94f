-- The index finds the chats that have not ended. ended_at is written only once, so turns do not have to write the
-- index. The index is built while other sessions write. A failed build leaves an invalid index, so the step drops it
-- before it starts again.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_open_idx;

CREATE INDEX CONCURRENTLY simulation_chats_open_idx ON simulation_chats (company_id, created_at DESC, id DESC) WHERE ended_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_open_idx;
