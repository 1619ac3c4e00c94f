-- The language of a dataset, and the languages by whose rules the words of a document were stemmed. NULL means English
-- and French, which older versions used for all documents. Existing documents stay unchanged until they are indexed
-- again.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE datasets ADD COLUMN language text NOT NULL DEFAULT 'auto';
ALTER TABLE documents ADD COLUMN languages text[];
-- +goose StatementEnd

-- +goose Down
ALTER TABLE documents DROP COLUMN languages;
ALTER TABLE datasets DROP COLUMN language;
