-- Audit events that are delivered to a webhook. Each event has the time of its delivery. A position in the log would
-- not do, because events are not committed in the order of their times, and late ones would be skipped.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE audit_events ADD COLUMN delivered_at timestamptz;

CREATE INDEX audit_events_undelivered_idx ON audit_events (company_id, created_at, id) WHERE delivered_at IS NULL;

-- Until due_at, a process is delivering a company's events, or the company waits after a failure.
CREATE TABLE audit_deliveries (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    target text NOT NULL CHECK (target IN ('Webhook')),
    failures int NOT NULL CHECK (failures >= 0),
    due_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, target)
);
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit_deliveries;
DROP INDEX audit_events_undelivered_idx;
ALTER TABLE audit_events DROP COLUMN delivered_at;
