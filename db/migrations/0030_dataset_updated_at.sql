-- The time of the last change of a dataset, so that clients can tell whether they have seen the change. NULL if it was
-- never changed.

-- +goose Up
ALTER TABLE datasets ADD COLUMN updated_at timestamptz;

-- +goose Down
ALTER TABLE datasets DROP COLUMN updated_at;
