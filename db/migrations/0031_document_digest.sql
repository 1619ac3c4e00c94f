-- What a document holds, in short, so that clients can tell whether they have the same file without reading it.

-- +goose Up
ALTER TABLE documents ADD COLUMN digest text NOT NULL DEFAULT '';
UPDATE documents SET digest = encode(sha256(whole.content), 'hex')
FROM (
    SELECT company_id, document_id, string_agg(content, ''::bytea ORDER BY part) AS content
    FROM document_contents GROUP BY company_id, document_id
) AS whole
WHERE whole.company_id = documents.company_id AND whole.document_id = documents.id;

-- +goose Down
ALTER TABLE documents DROP COLUMN digest;
