-- A digest of the content of a document, so that clients can compare a file without reading the document. It is NULL
-- for documents of older replicas that still run. Clients then send the file again.

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
