-- Expands: When the mutation of a request was committed, which is before its response is kept. The table is small, as rows live for a day.

-- +goose Up
ALTER TABLE idempotent_requests
    ADD COLUMN carried_out_at timestamptz;

-- +goose Down
ALTER TABLE idempotent_requests
    DROP COLUMN carried_out_at;
