-- When a dataset was changed last, so that clients can tell whether they have seen the change; NULL until then.

-- +goose Up
ALTER TABLE datasets ADD COLUMN updated_at timestamptz;

-- +goose Down
ALTER TABLE datasets DROP COLUMN updated_at;
