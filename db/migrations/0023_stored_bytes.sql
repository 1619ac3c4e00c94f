-- The number of bytes that a company stores, by kind, so that an upload does not have to add them up. The transaction
-- that adds or deletes data also changes the sum.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE stored_bytes (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('Documents')),
    bytes bigint NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (company_id, kind)
);

INSERT INTO stored_bytes (company_id, kind, bytes) SELECT company_id, 'Documents', sum(size) FROM documents GROUP BY company_id;
-- +goose StatementEnd

-- +goose Down
DROP TABLE stored_bytes;
