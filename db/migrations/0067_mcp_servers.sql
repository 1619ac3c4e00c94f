-- Expands: Tools of MCP servers, and calls of tools that wait for a person. Older programs write the defaults for tools
-- and calls. The index of waiting chats is small, because it contains no other chats.

-- +goose NO TRANSACTION

-- +goose Up
CREATE TABLE IF NOT EXISTS mcp_servers (
    company_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    endpoint jsonb NOT NULL,
    offers json NOT NULL,
    refreshed_at timestamptz,
    refresh_error text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT mcp_servers_pkey PRIMARY KEY (company_id, id),
    CONSTRAINT mcp_servers_name_key UNIQUE (company_id, name),
    CONSTRAINT mcp_servers_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT mcp_servers_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
    CONSTRAINT mcp_servers_endpoint_check CHECK (jsonb_typeof(endpoint) = 'object'),
    CONSTRAINT mcp_servers_offers_check CHECK (json_typeof(offers) = 'array'),
    CONSTRAINT mcp_servers_company_fkey FOREIGN KEY (company_id) REFERENCES companies (id) ON DELETE CASCADE
);

ALTER TABLE tools
    ADD COLUMN IF NOT EXISTS mcp_server_id text,
    ADD COLUMN IF NOT EXISTS mcp_name text,
    ADD COLUMN IF NOT EXISTS missing_since timestamptz,
    ADD COLUMN IF NOT EXISTS approval text NOT NULL DEFAULT 'Auto';

ALTER TABLE tools
    DROP CONSTRAINT IF EXISTS tools_mcp_check,
    DROP CONSTRAINT IF EXISTS tools_approval_check,
    DROP CONSTRAINT IF EXISTS tools_mcp_server_fkey,
    ADD CONSTRAINT tools_mcp_check CHECK (
        (mcp_server_id IS NULL) = (mcp_name IS NULL) AND (mcp_server_id IS NULL OR endpoint IS NULL)
        AND char_length(mcp_name) BETWEEN 1 AND 200
    ) NOT VALID,
    ADD CONSTRAINT tools_approval_check CHECK (approval IN ('Auto', 'Ask', 'Deny')) NOT VALID,
    ADD CONSTRAINT tools_mcp_server_fkey FOREIGN KEY (company_id, mcp_server_id)
        REFERENCES mcp_servers (company_id, id) NOT VALID;

ALTER TABLE tool_calls
    ADD COLUMN IF NOT EXISTS approval text,
    ADD COLUMN IF NOT EXISTS approval_until timestamptz,
    ADD COLUMN IF NOT EXISTS approval_note text;

ALTER TABLE tool_calls
    DROP CONSTRAINT IF EXISTS tool_calls_approval_check,
    ADD CONSTRAINT tool_calls_approval_check CHECK (
        approval IN ('Pending', 'Approved', 'Denied') AND (approval <> 'Pending' OR approval_until IS NOT NULL)
        AND char_length(approval_note) BETWEEN 1 AND 1000
    ) NOT VALID;

ALTER TABLE simulation_chats
    ADD COLUMN IF NOT EXISTS waiting_text text;

DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_waiting_idx;

CREATE INDEX CONCURRENTLY simulation_chats_waiting_idx ON simulation_chats (company_id, id) WHERE waiting_text IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS simulation_chats_waiting_idx;

ALTER TABLE simulation_chats
    DROP COLUMN IF EXISTS waiting_text;

ALTER TABLE tool_calls
    DROP COLUMN IF EXISTS approval,
    DROP COLUMN IF EXISTS approval_until,
    DROP COLUMN IF EXISTS approval_note;

ALTER TABLE tools
    DROP COLUMN IF EXISTS mcp_server_id,
    DROP COLUMN IF EXISTS mcp_name,
    DROP COLUMN IF EXISTS missing_since,
    DROP COLUMN IF EXISTS approval;

DROP TABLE IF EXISTS mcp_servers;
