-- Expands: Executions of a schedule can stop repeating decided tests, like other executions. A company has few
-- schedules, so the check takes no time.

-- +goose Up
ALTER TABLE agent_test_schedules
    ADD COLUMN stop_repeating json,
    ADD CONSTRAINT agent_test_schedules_stop_check CHECK (json_typeof(stop_repeating) = 'object');

-- +goose Down
ALTER TABLE agent_test_schedules
    DROP CONSTRAINT agent_test_schedules_stop_check,
    DROP COLUMN stop_repeating;
