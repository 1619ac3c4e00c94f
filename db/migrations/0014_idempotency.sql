-- Requests that clients may repeat without their being carried out again. A row counts until a time, which is the end
-- of a lease while its request is under way, and later the end of its answer; then its place is free. Both are measured
-- by the database's clock, since those of replicas may differ.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE idempotent_requests (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id bytea NOT NULL CHECK (octet_length(id) = 32),
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    claim_id text NOT NULL CHECK (char_length(claim_id) BETWEEN 1 AND 64),
    until timestamptz NOT NULL,
    status integer CHECK (status BETWEEN 200 AND 499),
    headers jsonb CHECK (jsonb_typeof(headers) = 'object'),
    body bytea,
    CHECK ((status IS NULL) = (headers IS NULL)),
    CHECK (status IS NOT NULL OR body IS NULL),
    PRIMARY KEY (company_id, id)
);

CREATE INDEX idempotent_requests_until_idx ON idempotent_requests (company_id, until);
-- +goose StatementEnd

-- +goose Down
DROP TABLE idempotent_requests;
