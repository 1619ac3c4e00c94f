-- Expands: An archive that is imported again is compared with the one that was imported before, by a digest of its contents.

-- +goose Up
ALTER TABLE company_imports
    ADD COLUMN digest bytea,
    ADD CONSTRAINT company_imports_digest_check CHECK (octet_length(digest) = 32);

-- +goose Down
ALTER TABLE company_imports
    DROP CONSTRAINT company_imports_digest_check,
    DROP COLUMN digest;
