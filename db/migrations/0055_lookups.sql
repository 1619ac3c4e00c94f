-- Expands: What lists lead to, a row at a time, is found by the hash of its id: through a primary key Postgres compares some twenty
-- texts on its way, and numbers here. What connects agents with tools, and chats with datasets, is read from an index alone.

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
