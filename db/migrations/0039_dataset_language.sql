-- A dataset has a language, and a document knows those by whose rules its chunks' words were stemmed. NULL is English and French,
-- which held for all before: what is indexed stays as it is until it is indexed again.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE datasets ADD COLUMN language text NOT NULL DEFAULT 'auto';
ALTER TABLE documents ADD COLUMN languages text[];
-- +goose StatementEnd

-- +goose Down
ALTER TABLE documents DROP COLUMN languages;
ALTER TABLE datasets DROP COLUMN language;
