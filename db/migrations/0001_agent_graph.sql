-- Every tenant table has the primary key (company_id, id), every reference between tenant tables maps company_id to
-- company_id, and every unique constraint contains it: the database itself cannot link two companies, and every table
-- can be sharded by company. The program creates times and ids.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE companies (
    id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE api_keys (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    prefix text NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'simulate', 'admin'] AND cardinality(scopes) > 0),
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (company_id, id)
);

CREATE INDEX api_keys_prefix_idx ON api_keys (company_id, prefix);

CREATE TABLE knowledge_base_chats (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    llm_settings jsonb NOT NULL CHECK (jsonb_typeof(llm_settings) = 'object'),
    prompt_settings jsonb NOT NULL CHECK (jsonb_typeof(prompt_settings) = 'object'),
    created_at timestamptz NOT NULL,
    updated_at timestamptz,
    PRIMARY KEY (company_id, id),
    CONSTRAINT knowledge_base_chats_llm_check CHECK (
        (llm_settings ->> 'temperature')::float8 BETWEEN 0 AND 2
        AND (llm_settings ->> 'topP')::float8 BETWEEN 0 AND 1
        AND (llm_settings ->> 'presencePenalty')::float8 BETWEEN -2 AND 2
        AND (llm_settings ->> 'frequencyPenalty')::float8 BETWEEN -2 AND 2
    ),
    CONSTRAINT knowledge_base_chats_prompt_check CHECK (
        (prompt_settings ->> 'similarityThreshold')::float8 BETWEEN 0 AND 1
        AND (prompt_settings ->> 'keywordsSimilarityWeight')::float8 BETWEEN 0 AND 1
        AND (prompt_settings ->> 'topN')::int BETWEEN 1 AND 100
        AND char_length(prompt_settings ->> 'prompt') <= 50000
        AND char_length(prompt_settings ->> 'opener') <= 5000
        AND char_length(prompt_settings ->> 'emptyResponse') <= 5000
    )
);

CREATE INDEX knowledge_base_chats_list_idx ON knowledge_base_chats (company_id, created_at DESC, id DESC);

CREATE TABLE datasets (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) <= 5000),
    chunk_method text NOT NULL CHECK (chunk_method IN (
        'naive', 'book', 'email', 'laws', 'manual', 'one', 'paper', 'picture', 'presentation', 'qa', 'table', 'tag'
    )),
    parser_config jsonb NOT NULL CHECK (jsonb_typeof(parser_config) = 'object'),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT datasets_parser_check CHECK (
        (parser_config ->> 'chunkTokenNum')::int BETWEEN 1 AND 2048
        AND (parser_config ->> 'taskPageSize')::int BETWEEN 1 AND 1000
        AND char_length(parser_config ->> 'delimiter') BETWEEN 1 AND 255
    )
);

CREATE INDEX datasets_list_idx ON datasets (company_id, created_at DESC, id DESC);

CREATE TABLE knowledge_base_chat_datasets (
    company_id text NOT NULL,
    chat_id text NOT NULL,
    dataset_id text NOT NULL,
    position int NOT NULL,
    PRIMARY KEY (company_id, chat_id, dataset_id),
    CONSTRAINT kb_chat_datasets_chat_fkey FOREIGN KEY (company_id, chat_id)
        REFERENCES knowledge_base_chats (company_id, id) ON DELETE CASCADE,
    CONSTRAINT kb_chat_datasets_dataset_fkey FOREIGN KEY (company_id, dataset_id)
        REFERENCES datasets (company_id, id) ON DELETE CASCADE
);

CREATE INDEX kb_chat_datasets_dataset_idx ON knowledge_base_chat_datasets (company_id, dataset_id);

CREATE TABLE agents (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    channel text NOT NULL CHECK (channel IN ('Phone', 'SMS', 'Web', 'WhatsApp')),
    direction text NOT NULL CHECK (direction IN ('Inbound', 'Outbound')),
    language text NOT NULL CHECK (language ~ '^[a-z]{2}(-[A-Z]{2})?$'),
    tags jsonb NOT NULL CHECK (jsonb_typeof(tags) = 'array' AND jsonb_array_length(tags) <= 50),
    prompt text NOT NULL CHECK (char_length(prompt) BETWEEN 1 AND 50000),
    prompt_version int NOT NULL CHECK (prompt_version >= 1),
    outbound_welcome_message text CHECK (char_length(outbound_welcome_message) BETWEEN 1 AND 5000),
    inbound_welcome_message text CHECK (char_length(inbound_welcome_message) BETWEEN 1 AND 5000),
    fields jsonb NOT NULL CHECK (jsonb_typeof(fields) = 'array' AND jsonb_array_length(fields) <= 100),
    classification_tags jsonb NOT NULL CHECK (jsonb_typeof(classification_tags) = 'array' AND jsonb_array_length(classification_tags) <= 100),
    extracted_values jsonb NOT NULL CHECK (jsonb_typeof(extracted_values) = 'array' AND jsonb_array_length(extracted_values) <= 100),
    is_call_transfer_enabled boolean NOT NULL,
    knowledge_base_chat_id text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    FOREIGN KEY (company_id, knowledge_base_chat_id) REFERENCES knowledge_base_chats (company_id, id)
);

CREATE INDEX agents_list_idx ON agents (company_id, created_at DESC, id DESC);

CREATE INDEX agents_knowledge_base_chat_idx ON agents (company_id, knowledge_base_chat_id);

CREATE TABLE prompt_versions (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    version int NOT NULL CHECK (version >= 1),
    prompt text NOT NULL CHECK (char_length(prompt) BETWEEN 1 AND 50000),
    created_at timestamptz NOT NULL,
    api_key_id text,
    PRIMARY KEY (company_id, id),
    UNIQUE (company_id, agent_id, version),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE,
    FOREIGN KEY (company_id, api_key_id) REFERENCES api_keys (company_id, id)
);

CREATE INDEX prompt_versions_list_idx ON prompt_versions (company_id, agent_id, created_at DESC, id DESC);

CREATE TABLE tools (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    technical_name text NOT NULL CHECK (technical_name ~ '^[a-z][a-z0-9_]{0,63}$'),
    description text NOT NULL CHECK (char_length(description) <= 2000),
    parameters json NOT NULL CHECK (json_typeof(parameters) = 'object'),
    endpoint jsonb CHECK (jsonb_typeof(endpoint) = 'object'),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT tools_technical_name_key UNIQUE (company_id, technical_name)
);

CREATE INDEX tools_list_idx ON tools (company_id, created_at DESC, id DESC);

CREATE TABLE agent_tools (
    company_id text NOT NULL,
    agent_id text NOT NULL,
    tool_id text NOT NULL,
    position int NOT NULL,
    PRIMARY KEY (company_id, agent_id, tool_id),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE,
    FOREIGN KEY (company_id, tool_id) REFERENCES tools (company_id, id) ON DELETE CASCADE
);

CREATE INDEX agent_tools_tool_idx ON agent_tools (company_id, tool_id);

CREATE TABLE sub_agents (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    delegate_agent_id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    technical_name text NOT NULL CHECK (technical_name ~ '^[a-z][a-z0-9_]{0,63}$'),
    description text NOT NULL CHECK (char_length(description) <= 2000),
    position int NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT sub_agents_technical_name_key UNIQUE (company_id, agent_id, technical_name),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE,
    FOREIGN KEY (company_id, delegate_agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE
);

CREATE INDEX sub_agents_delegate_idx ON sub_agents (company_id, delegate_agent_id);

CREATE TABLE simulation_chats (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    status text NOT NULL CHECK (status IN ('Open', 'Replying', 'Ended')),
    data_bag json NOT NULL CHECK (json_typeof(data_bag) = 'object'),
    tool_mocking jsonb NOT NULL CHECK (jsonb_typeof(tool_mocking) = 'object'),
    warnings jsonb NOT NULL CHECK (jsonb_typeof(warnings) = 'array'),
    last_sequence int NOT NULL CHECK (last_sequence >= 0),
    reply_id text,
    reply_until timestamptz,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    end_reason text,
    PRIMARY KEY (company_id, id),
    CONSTRAINT simulation_chats_reply_check CHECK (
        (status = 'Replying') = (reply_id IS NOT NULL) AND (reply_id IS NULL) = (reply_until IS NULL)
    ),
    CONSTRAINT simulation_chats_ended_check CHECK (
        (status = 'Ended') = (ended_at IS NOT NULL) AND (end_reason IS NULL OR ended_at IS NOT NULL)
    ),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE
);

CREATE INDEX simulation_chats_list_idx ON simulation_chats (company_id, created_at DESC, id DESC);

CREATE INDEX simulation_chats_agent_idx ON simulation_chats (company_id, agent_id, created_at DESC, id DESC);

CREATE TABLE simulation_chat_messages (
    company_id text NOT NULL,
    chat_id text NOT NULL,
    sequence int NOT NULL CHECK (sequence >= 1),
    role text NOT NULL CHECK (role IN ('assistant', 'user')),
    text text NOT NULL,
    written_at timestamptz NOT NULL,
    is_conversation_ended boolean NOT NULL,
    end_reason text,
    PRIMARY KEY (company_id, chat_id, sequence),
    CONSTRAINT simulation_chat_messages_end_check CHECK (end_reason IS NULL OR is_conversation_ended),
    FOREIGN KEY (company_id, chat_id) REFERENCES simulation_chats (company_id, id) ON DELETE CASCADE
);
-- +goose StatementEnd

-- +goose Down
DROP TABLE simulation_chat_messages;
DROP TABLE simulation_chats;
DROP TABLE sub_agents;
DROP TABLE agent_tools;
DROP TABLE tools;
DROP TABLE prompt_versions;
DROP TABLE agents;
DROP TABLE knowledge_base_chat_datasets;
DROP TABLE datasets;
DROP TABLE knowledge_base_chats;
DROP TABLE api_keys;
DROP TABLE companies;
