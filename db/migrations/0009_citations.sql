-- Citations of the knowledge base in messages of agents, with the content at the time of the message.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE simulation_chat_messages ADD COLUMN citations jsonb CHECK (jsonb_typeof(citations) = 'array');

UPDATE simulation_chat_messages SET citations = '[]';

ALTER TABLE simulation_chat_messages ALTER COLUMN citations SET NOT NULL;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE simulation_chat_messages DROP COLUMN citations;
