-- Requests that clients may repeat, but that are executed only once. A row expires at the time until. That is the end
-- of a lease while its request is in progress, and later the end of the stored response. The database's clock measures
-- both, because the clocks of replicas may differ.

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
