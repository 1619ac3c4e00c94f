-- Companies that are imported from another server. The hashes of imported secrets are the only rows that are looked up
-- without the company, because these secrets do not name it. There are few of them, and they never change, so every
-- shard can have all of them. company_imports records the archive of a company, so that the same archive is imported
-- once.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE imported_key_hashes (
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    api_key_id text NOT NULL CHECK (char_length(api_key_id) BETWEEN 1 AND 64),
    PRIMARY KEY (hash)
);

CREATE TABLE company_imports (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    archive_id text NOT NULL CHECK (char_length(archive_id) BETWEEN 1 AND 64),
    imported_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, archive_id)
);

-- Rows with cyclic references are written together, and checked at the end.
ALTER TABLE agent_tests ALTER CONSTRAINT agent_tests_company_id_last_run_id_fkey DEFERRABLE INITIALLY IMMEDIATE;

ALTER TABLE agent_test_executions ALTER CONSTRAINT agent_test_executions_company_id_retry_of_id_fkey DEFERRABLE INITIALLY IMMEDIATE;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions ALTER CONSTRAINT agent_test_executions_company_id_retry_of_id_fkey NOT DEFERRABLE;

ALTER TABLE agent_tests ALTER CONSTRAINT agent_tests_company_id_last_run_id_fkey NOT DEFERRABLE;

DROP TABLE company_imports;

-- Keys with imported secrets can no longer be found by their hashes.
UPDATE api_keys SET revoked_at = now() FROM imported_key_hashes AS imported
WHERE api_keys.company_id = imported.company_id AND api_keys.id = imported.api_key_id AND api_keys.revoked_at IS NULL;

DROP TABLE imported_key_hashes;
