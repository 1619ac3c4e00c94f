-- Expands: Conversations that are judged again, in addition to their first verdicts. Also what the judge sees, the
-- contact's persona and texts, and runs that are not needed any more. Processes of the previous version write NULL.
-- Existing rows satisfy the stricter rules, so they need no check.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agent_tests
    ADD COLUMN judge_sees json,
    ADD COLUMN persona json,
    ADD COLUMN contact_says json;

ALTER TABLE agent_tests
    ADD CONSTRAINT agent_tests_told_check CHECK (
        json_typeof(judge_sees) = 'array' AND json_array_length(judge_sees) <= 10
        AND json_typeof(persona) = 'object'
        AND json_typeof(contact_says) = 'array' AND json_array_length(contact_says) <= 30
    ) NOT VALID,
    DROP CONSTRAINT agent_tests_last_run_status_check;

ALTER TABLE agent_tests
    ADD CONSTRAINT agent_tests_last_run_status_check CHECK (
        last_run_status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled', 'Skipped')
    ) NOT VALID;

ALTER TABLE agent_test_executions
    ADD COLUMN rejudge_of_id text,
    ADD COLUMN judge_model text,
    ADD COLUMN api_key_id text,
    ADD COLUMN stop_repeating json;

ALTER TABLE agent_test_executions
    ADD CONSTRAINT agent_test_executions_rejudge_fkey FOREIGN KEY (company_id, rejudge_of_id)
        REFERENCES agent_test_executions (company_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY IMMEDIATE NOT VALID,
    ADD CONSTRAINT agent_test_executions_key_fkey FOREIGN KEY (company_id, api_key_id) REFERENCES api_keys (company_id, id) NOT VALID,
    ADD CONSTRAINT agent_test_executions_judge_check CHECK (char_length(judge_model) BETWEEN 1 AND 200) NOT VALID,
    ADD CONSTRAINT agent_test_executions_stop_check CHECK (json_typeof(stop_repeating) = 'object') NOT VALID;

ALTER TABLE agent_test_runs
    ADD COLUMN rejudge_of_id text,
    ADD COLUMN held json,
    ADD COLUMN compared int,
    ADD COLUMN agreed int;

ALTER TABLE agent_test_runs
    ADD CONSTRAINT agent_test_runs_rejudge_fkey FOREIGN KEY (company_id, rejudge_of_id)
        REFERENCES agent_test_runs (company_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY IMMEDIATE NOT VALID,
    ADD CONSTRAINT agent_test_runs_rejudge_check CHECK (json_typeof(held) = 'object' AND agreed BETWEEN 0 AND compared) NOT VALID,
    DROP CONSTRAINT agent_test_runs_status_check,
    DROP CONSTRAINT agent_test_runs_started_check;

ALTER TABLE agent_test_runs
    ADD CONSTRAINT agent_test_runs_status_check CHECK (
        status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled', 'Skipped')
    ) NOT VALID,
    ADD CONSTRAINT agent_test_runs_started_check CHECK (
        (started_at IS NULL OR claim > 0)
        AND CASE WHEN status IN ('Queued', 'Skipped') THEN started_at IS NULL
            WHEN status IN ('Error', 'Cancelled') THEN true ELSE started_at IS NOT NULL END
    ) NOT VALID;
-- +goose StatementEnd

-- +goose Down
DELETE FROM agent_test_executions WHERE rejudge_of_id IS NOT NULL;

UPDATE agent_test_runs SET status = 'Cancelled' WHERE status = 'Skipped';

UPDATE agent_tests SET last_run_status = 'Cancelled' WHERE last_run_status = 'Skipped';

ALTER TABLE agent_test_runs
    DROP CONSTRAINT agent_test_runs_status_check,
    DROP CONSTRAINT agent_test_runs_started_check,
    DROP COLUMN rejudge_of_id,
    DROP COLUMN held,
    DROP COLUMN compared,
    DROP COLUMN agreed;

ALTER TABLE agent_test_runs
    ADD CONSTRAINT agent_test_runs_status_check CHECK (status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled')),
    ADD CONSTRAINT agent_test_runs_started_check CHECK (
        (started_at IS NULL OR claim > 0)
        AND CASE WHEN status = 'Queued' THEN started_at IS NULL WHEN status IN ('Error', 'Cancelled') THEN true ELSE started_at IS NOT NULL END
    );

ALTER TABLE agent_test_executions
    DROP COLUMN rejudge_of_id,
    DROP COLUMN judge_model,
    DROP COLUMN api_key_id,
    DROP COLUMN stop_repeating;

ALTER TABLE agent_tests DROP CONSTRAINT agent_tests_last_run_status_check, DROP COLUMN judge_sees, DROP COLUMN persona, DROP COLUMN contact_says;

ALTER TABLE agent_tests
    ADD CONSTRAINT agent_tests_last_run_status_check CHECK (last_run_status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled'));
