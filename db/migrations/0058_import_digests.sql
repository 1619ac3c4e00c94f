-- Expands: A digest of the contents of an imported archive. If the archive is imported again, the digests are compared.

-- +goose Up
ALTER TABLE company_imports
    ADD COLUMN digest bytea,
    ADD CONSTRAINT company_imports_digest_check CHECK (octet_length(digest) = 32);

-- +goose Down
ALTER TABLE company_imports
    DROP CONSTRAINT company_imports_digest_check,
    DROP COLUMN digest;
