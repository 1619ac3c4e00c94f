-- Expands: The rows of a test, and the row of each run. Processes of the previous version write none. Existing rows of
-- the tables satisfy the rules, so they need no check.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agent_tests ADD COLUMN rows json;

ALTER TABLE agent_tests ADD CONSTRAINT agent_tests_rows_check CHECK (
    json_typeof(rows) = 'array' AND json_array_length(rows) <= 500
) NOT VALID;

ALTER TABLE agent_test_runs
    ADD COLUMN row_key text NOT NULL DEFAULT '',
    ADD COLUMN row_number int,
    ADD COLUMN row_name text,
    ADD COLUMN row_values json;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_row_check CHECK (
    (row_key = '') = (row_number IS NULL) AND row_number BETWEEN 1 AND 500 AND char_length(row_name) BETWEEN 1 AND 100
    AND (row_values IS NULL) = (row_number IS NULL) AND json_typeof(row_values) = 'object'
) NOT VALID;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_runs
    DROP COLUMN row_key,
    DROP COLUMN row_number,
    DROP COLUMN row_name,
    DROP COLUMN row_values;

ALTER TABLE agent_tests DROP COLUMN rows;
