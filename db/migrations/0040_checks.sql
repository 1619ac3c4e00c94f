-- Checks of simulations that the program decides, in addition to criteria or instead of them, and the weights of checks
-- and criteria. Processes of the previous version write NULL. Existing rows satisfy the stricter rules, so they need no
-- check.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agent_tests
    ADD COLUMN checks json,
    ADD COLUMN criteria_weights json,
    ADD COLUMN pass_at double precision,
    DROP CONSTRAINT agent_tests_criteria_check;

ALTER TABLE agent_tests
    ADD CONSTRAINT agent_tests_criteria_check CHECK (
        jsonb_typeof(criteria) = 'array' AND jsonb_array_length(criteria) <= 30
        AND jsonb_array_length(criteria) + coalesce(json_array_length(checks), 0) > 0
    ) NOT VALID,
    ADD CONSTRAINT agent_tests_checks_check CHECK (
        json_typeof(checks) = 'array' AND json_array_length(checks) <= 50
        AND json_typeof(criteria_weights) = 'array' AND json_array_length(criteria_weights) <= 30
        AND pass_at BETWEEN 0 AND 1
    ) NOT VALID;

ALTER TABLE agent_test_runs
    ADD COLUMN check_results json,
    ADD COLUMN score double precision;

ALTER TABLE agent_test_runs
    ADD CONSTRAINT agent_test_runs_checks_check CHECK (json_typeof(check_results) = 'array' AND score BETWEEN 0 AND 1) NOT VALID;
-- +goose StatementEnd

-- +goose Down
DELETE FROM agent_tests WHERE jsonb_array_length(criteria) = 0;

ALTER TABLE agent_test_runs DROP COLUMN check_results, DROP COLUMN score;

ALTER TABLE agent_tests
    DROP CONSTRAINT agent_tests_criteria_check,
    DROP COLUMN checks,
    DROP COLUMN criteria_weights,
    DROP COLUMN pass_at;

ALTER TABLE agent_tests
    ADD CONSTRAINT agent_tests_criteria_check CHECK (jsonb_typeof(criteria) = 'array' AND jsonb_array_length(criteria) BETWEEN 1 AND 30);
