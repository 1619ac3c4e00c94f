-- Expands: The time when the mutation of a request was committed, which is before its response is saved. The table is
-- small, because rows expire after a day.

-- +goose Up
ALTER TABLE idempotent_requests
    ADD COLUMN carried_out_at timestamptz;

-- +goose Down
ALTER TABLE idempotent_requests
    DROP COLUMN carried_out_at;
