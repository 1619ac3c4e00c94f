-- Expands: Hash indexes for rows that lists look up one by one. In a primary key, Postgres compares about twenty texts
-- for each lookup. In a hash index, it compares numbers. The relations of agents with tools, and of chats with
-- datasets, are read by index-only scans.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agents_id_idx;

CREATE INDEX CONCURRENTLY agents_id_idx ON agents USING hash (id);

DROP INDEX CONCURRENTLY IF EXISTS tools_id_idx;

CREATE INDEX CONCURRENTLY tools_id_idx ON tools USING hash (id);

DROP INDEX CONCURRENTLY IF EXISTS datasets_id_idx;

CREATE INDEX CONCURRENTLY datasets_id_idx ON datasets USING hash (id);

DROP INDEX CONCURRENTLY IF EXISTS knowledge_base_chats_id_idx;

CREATE INDEX CONCURRENTLY knowledge_base_chats_id_idx ON knowledge_base_chats USING hash (id);

DROP INDEX CONCURRENTLY IF EXISTS agent_tools_order_idx;

CREATE INDEX CONCURRENTLY agent_tools_order_idx ON agent_tools (company_id, agent_id, position, tool_id);

DROP INDEX CONCURRENTLY IF EXISTS knowledge_base_chat_datasets_order_idx;

CREATE INDEX CONCURRENTLY knowledge_base_chat_datasets_order_idx ON knowledge_base_chat_datasets (company_id, chat_id, position, dataset_id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agents_id_idx;

DROP INDEX CONCURRENTLY IF EXISTS tools_id_idx;

DROP INDEX CONCURRENTLY IF EXISTS datasets_id_idx;

DROP INDEX CONCURRENTLY IF EXISTS knowledge_base_chats_id_idx;

DROP INDEX CONCURRENTLY IF EXISTS agent_tools_order_idx;

DROP INDEX CONCURRENTLY IF EXISTS knowledge_base_chat_datasets_order_idx;
