-- How many bytes a company keeps, by what they are, so that nothing has to be added up when more is to be kept. The
-- sum changes in the transaction that adds or deletes what it counts.

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
