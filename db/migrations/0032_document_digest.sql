-- What a document holds, in short, so that clients can tell whether they have the same file without reading it. It is NULL for
-- what a replica of before adds while it is still running: clients then send the file again.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE documents ADD COLUMN digest text;
UPDATE documents SET digest = encode(sha256(coalesce((
    SELECT string_agg(content, ''::bytea ORDER BY part) FROM document_contents
    WHERE document_contents.company_id = documents.company_id AND document_contents.document_id = documents.id
), ''::bytea)), 'hex');
-- +goose StatementEnd

-- +goose Down
ALTER TABLE documents DROP COLUMN digest;
