-- Expands: The object with a document's content in a bucket. It is null for contents in document_contents. An older
-- program reads such documents as empty, so set AGENTGRAPH_DOCUMENT_BUCKET after all replicas are upgraded. Before a
-- downgrade, run "agentgraph documents move --to postgres".

-- +goose NO TRANSACTION

-- +goose Up
ALTER TABLE documents ADD COLUMN IF NOT EXISTS object_id text;

DROP INDEX CONCURRENTLY IF EXISTS documents_object_key;

CREATE UNIQUE INDEX CONCURRENTLY documents_object_key ON documents (company_id, object_id) WHERE object_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS documents_object_key;

ALTER TABLE documents DROP COLUMN IF EXISTS object_id;
