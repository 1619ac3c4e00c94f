-- Expands: Whether a call was made for real. It is null for calls of older programs.

-- +goose Up
ALTER TABLE tool_calls ADD COLUMN is_real boolean;

-- +goose Down
ALTER TABLE tool_calls DROP COLUMN is_real;
