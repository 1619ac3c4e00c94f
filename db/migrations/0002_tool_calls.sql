-- +goose Up
-- +goose StatementBegin
CREATE TABLE tool_calls (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    chat_id text NOT NULL,
    position int NOT NULL CHECK (position >= 0),
    kind text NOT NULL CHECK (kind IN ('Tool', 'SubAgent', 'CallTransfer', 'Retrieval')),
    target_id text,
    technical_name text NOT NULL,
    arguments json NOT NULL CHECK (json_typeof(arguments) = 'object'),
    result text,
    mocked boolean NOT NULL,
    mock_rule int CHECK (mock_rule >= 0),
    message_sequence int NOT NULL CHECK (message_sequence >= 1),
    delegation_id text,
    started_at timestamptz NOT NULL,
    duration_ms int NOT NULL CHECK (duration_ms >= 0),
    error text,
    is_turn_kept boolean NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT tool_calls_outcome_check CHECK ((result IS NULL) <> (error IS NULL)),
    FOREIGN KEY (company_id, chat_id) REFERENCES simulation_chats (company_id, id) ON DELETE CASCADE
);

CREATE INDEX tool_calls_chat_idx ON tool_calls (company_id, chat_id, position);

-- sideEffects says whether calls that are not mocked are allowed.
UPDATE simulation_chats SET tool_mocking = tool_mocking::jsonb || '{"sideEffects": "Allow"}';
-- +goose StatementEnd

-- +goose Down
UPDATE simulation_chats SET tool_mocking = tool_mocking::jsonb - 'sideEffects';
DROP TABLE tool_calls;
