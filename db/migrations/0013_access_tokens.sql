-- Short-lived credentials. Each belongs to an API key, and becomes invalid with the key.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE access_tokens (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    api_key_id text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'simulate', 'admin'] AND cardinality(scopes) > 0),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, hash),
    FOREIGN KEY (company_id, api_key_id) REFERENCES api_keys (company_id, id) ON DELETE CASCADE,
    CONSTRAINT access_tokens_life_check CHECK (expires_at > created_at)
);

CREATE INDEX access_tokens_api_key_idx ON access_tokens (company_id, api_key_id);

CREATE INDEX access_tokens_expiry_idx ON access_tokens (company_id, expires_at);
-- +goose StatementEnd

-- +goose Down
DROP TABLE access_tokens;
