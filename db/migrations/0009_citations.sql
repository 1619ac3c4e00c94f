-- What messages of agents cite from the knowledge base, as it was when they were written.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE simulation_chat_messages ADD COLUMN citations jsonb CHECK (jsonb_typeof(citations) = 'array');

UPDATE simulation_chat_messages SET citations = '[]';

ALTER TABLE simulation_chat_messages ALTER COLUMN citations SET NOT NULL;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE simulation_chat_messages DROP COLUMN citations;
