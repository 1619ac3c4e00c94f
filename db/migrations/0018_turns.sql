-- A turn reads the calls of the last turns of its chat, and all real transfers.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS tool_calls_turn_idx;

CREATE INDEX CONCURRENTLY tool_calls_turn_idx ON tool_calls (company_id, chat_id, message_sequence, started_at, position);

DROP INDEX CONCURRENTLY IF EXISTS tool_calls_transfer_idx;

CREATE INDEX CONCURRENTLY tool_calls_transfer_idx ON tool_calls (company_id, chat_id)
WHERE kind = 'CallTransfer' AND NOT mocked;

DROP INDEX CONCURRENTLY IF EXISTS tool_calls_chat_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS tool_calls_chat_idx;

CREATE INDEX CONCURRENTLY tool_calls_chat_idx ON tool_calls (company_id, chat_id, position);

DROP INDEX CONCURRENTLY IF EXISTS tool_calls_transfer_idx;

DROP INDEX CONCURRENTLY IF EXISTS tool_calls_turn_idx;
