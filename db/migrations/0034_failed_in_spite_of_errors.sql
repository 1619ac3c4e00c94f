-- +goose Up
-- +goose StatementBegin
-- A missed criterion decides a run, even if another criterion could not be judged. The error says why. Existing rows
-- satisfy the stricter rule, so they need no check.
ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_cause_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_cause_check CHECK (
    CASE WHEN error IS NULL THEN status <> 'Error' ELSE status IN ('Error', 'Failed') END
) NOT VALID;
-- +goose StatementEnd

-- +goose Down
UPDATE agent_test_runs SET error = NULL WHERE status = 'Failed';

ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_cause_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_cause_check CHECK ((status = 'Error') = (error IS NOT NULL));
