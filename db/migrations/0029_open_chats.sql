-- The chats that have not ended, however many have. ended_at is written once, so that no turn has to write the index. It is
-- built while everybody writes. A build that failed leaves an index that nobody reads: the step is done again then, so it
-- begins by dropping it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_open_idx;

CREATE INDEX CONCURRENTLY simulation_chats_open_idx ON simulation_chats (company_id, created_at DESC, id DESC) WHERE ended_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_open_idx;
