-- Companies that come from another server. The hashes of keys whose secrets were made elsewhere are the only rows that are
-- looked up without knowing the company: the secret does not name it. There are few, they never change, and every shard can
-- hold all of them. Where a company came from is remembered, so that the same archive is taken once.

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

-- Rows that refer to each other in a circle are written together, and checked at the end.
ALTER TABLE agent_tests ALTER CONSTRAINT agent_tests_company_id_last_run_id_fkey DEFERRABLE INITIALLY IMMEDIATE;

ALTER TABLE agent_test_executions ALTER CONSTRAINT agent_test_executions_company_id_retry_of_id_fkey DEFERRABLE INITIALLY IMMEDIATE;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions ALTER CONSTRAINT agent_test_executions_company_id_retry_of_id_fkey NOT DEFERRABLE;

ALTER TABLE agent_tests ALTER CONSTRAINT agent_tests_company_id_last_run_id_fkey NOT DEFERRABLE;

DROP TABLE company_imports;

-- A key of which only the hash led to its company can be used no more.
UPDATE api_keys SET revoked_at = now() FROM imported_key_hashes AS imported
WHERE api_keys.company_id = imported.company_id AND api_keys.id = imported.api_key_id AND api_keys.revoked_at IS NULL;

DROP TABLE imported_key_hashes;
