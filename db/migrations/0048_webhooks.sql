-- Expands: Webhooks of companies, and the messages that are delivered to them. A message is written in the transaction
-- of its event.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE webhooks (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL,
    url text NOT NULL,
    description text NOT NULL,
    events jsonb NOT NULL,
    is_enabled boolean NOT NULL,
    disabled_reason text,
    failing_since timestamptz,
    sealed_secret bytea NOT NULL,
    sealed_previous_secret bytea,
    previous_secret_until timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT webhooks_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT webhooks_url_check CHECK (char_length(url) BETWEEN 1 AND 2000),
    CONSTRAINT webhooks_description_check CHECK (char_length(description) <= 500),
    CONSTRAINT webhooks_events_check CHECK (jsonb_typeof(events) = 'array' AND jsonb_array_length(events) BETWEEN 1 AND 100)
);

CREATE TABLE webhook_deliveries (
    company_id text NOT NULL,
    id text NOT NULL,
    webhook_id text NOT NULL,
    type text NOT NULL,
    payload json NOT NULL,
    -- occasion is a deduplication key: a webhook gets one message for each occasion, even if several processes write
    -- it.
    occasion text,
    status text NOT NULL,
    attempts json NOT NULL,
    failures int NOT NULL,
    claim int NOT NULL,
    due_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    FOREIGN KEY (company_id, webhook_id) REFERENCES webhooks (company_id, id) ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT webhook_deliveries_type_check CHECK (char_length(type) BETWEEN 1 AND 100),
    CONSTRAINT webhook_deliveries_status_check CHECK (status IN ('Pending', 'Delivered', 'Failed') AND (status = 'Pending') = (due_at IS NOT NULL)),
    CONSTRAINT webhook_deliveries_attempts_check CHECK (json_typeof(attempts) = 'array' AND json_array_length(attempts) <= 20)
);

CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (company_id, webhook_id, created_at DESC, id DESC);

CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (company_id, webhook_id, due_at) WHERE status = 'Pending';

CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (company_id, created_at);

CREATE UNIQUE INDEX webhook_deliveries_occasion_key ON webhook_deliveries (company_id, webhook_id, occasion);
-- +goose StatementEnd

-- +goose Down
DROP TABLE webhook_deliveries;

DROP TABLE webhooks;
