-- +goose Up
-- +goose StatementBegin
-- Twenty repeats decide comparisons that five repeats cannot decide. Existing rows satisfy the stricter bound, so they
-- need no check.
ALTER TABLE agent_test_executions DROP CONSTRAINT agent_test_executions_repeats_check;

ALTER TABLE agent_test_executions ADD CONSTRAINT agent_test_executions_repeats_check CHECK (repeats BETWEEN 1 AND 20) NOT VALID;

ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_attempt_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_attempt_check CHECK (attempt BETWEEN 1 AND 20) NOT VALID;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions DROP CONSTRAINT agent_test_executions_repeats_check;

ALTER TABLE agent_test_executions ADD CONSTRAINT agent_test_executions_repeats_check CHECK (repeats BETWEEN 1 AND 5) NOT VALID;

ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_attempt_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_attempt_check CHECK (attempt BETWEEN 1 AND 5) NOT VALID;
