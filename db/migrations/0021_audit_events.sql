-- The audit log: who changed what. Rows are only added.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE audit_events (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL,
    action text NOT NULL,
    target_id text NOT NULL,
    api_key_id text,
    is_access_token boolean NOT NULL,
    address text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT audit_events_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT audit_events_action_check CHECK (char_length(action) BETWEEN 1 AND 100),
    CONSTRAINT audit_events_target_id_check CHECK (char_length(target_id) BETWEEN 1 AND 200),
    CONSTRAINT audit_events_address_check CHECK (char_length(address) BETWEEN 1 AND 100)
);

CREATE INDEX audit_events_list_idx ON audit_events (company_id, created_at DESC, id DESC);

-- With these, no filter reads the whole log, even if it finds nothing.
CREATE INDEX audit_events_target_idx ON audit_events (company_id, target_id, created_at DESC, id DESC);

CREATE INDEX audit_events_key_idx ON audit_events (company_id, api_key_id, created_at DESC, id DESC);

CREATE INDEX audit_events_action_idx ON audit_events (company_id, action, created_at DESC, id DESC);
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit_events;
