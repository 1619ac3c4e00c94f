-- Expands: A schedule can name as many tests as an execution can have, and has the time when it last failed to start
-- one. A company has few schedules, so the check takes no time.

-- +goose Up
ALTER TABLE agent_test_schedules
    ADD COLUMN last_failed_at timestamptz,
    DROP CONSTRAINT agent_test_schedules_tests_check,
    ADD CONSTRAINT agent_test_schedules_tests_check CHECK (jsonb_typeof(test_ids) = 'array' AND jsonb_array_length(test_ids) BETWEEN 1 AND 4000);

-- +goose Down
ALTER TABLE agent_test_schedules
    DROP COLUMN last_failed_at,
    DROP CONSTRAINT agent_test_schedules_tests_check,
    ADD CONSTRAINT agent_test_schedules_tests_check CHECK (jsonb_typeof(test_ids) = 'array' AND jsonb_array_length(test_ids) BETWEEN 1 AND 200) NOT VALID;
