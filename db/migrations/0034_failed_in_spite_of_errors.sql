-- +goose Up
-- +goose StatementBegin
-- A false criterion decides a run, even if another one could not be judged; the error says why. What was
-- stored before holds to the narrower rule, so it need not be read.
ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_cause_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_cause_check CHECK (
    CASE WHEN error IS NULL THEN status <> 'Error' ELSE status IN ('Error', 'Failed') END
) NOT VALID;
-- +goose StatementEnd

-- +goose Down
UPDATE agent_test_runs SET error = NULL WHERE status = 'Failed';

ALTER TABLE agent_test_runs DROP CONSTRAINT agent_test_runs_cause_check;

ALTER TABLE agent_test_runs ADD CONSTRAINT agent_test_runs_cause_check CHECK ((status = 'Error') = (error IS NOT NULL));
