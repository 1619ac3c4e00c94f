-- Expands: The model of an agent, and the usage of answers.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agents
    ADD COLUMN model text,
    ADD CONSTRAINT agents_model_check CHECK (char_length(model) BETWEEN 1 AND 100) NOT VALID;
ALTER TABLE simulation_chat_messages
    ADD COLUMN usage jsonb,
    ADD CONSTRAINT simulation_chat_messages_usage_check CHECK (jsonb_typeof(usage) = 'object') NOT VALID;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE simulation_chat_messages
    DROP COLUMN usage;
ALTER TABLE agents
    DROP COLUMN model;
