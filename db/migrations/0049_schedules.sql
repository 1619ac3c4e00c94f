-- Expands: Schedules of agent tests, and the schedule and time for which an execution was started. cron_at is the next
-- time of cron. next_run_at is when the schedule is due, which is earlier after a change of the prompt. The tests of a
-- schedule may be deleted.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE agent_test_schedules (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL,
    name text NOT NULL,
    agent_id text,
    folder_id text,
    test_ids jsonb,
    repeats int NOT NULL,
    concurrency int NOT NULL,
    virtual_time boolean NOT NULL,
    votes int NOT NULL,
    cron text,
    time_zone text NOT NULL,
    after_prompt_change boolean NOT NULL,
    is_enabled boolean NOT NULL,
    disabled_reason text,
    baseline_id text,
    cron_at timestamptz,
    next_run_at timestamptz,
    last_run_at timestamptz,
    last_execution_id text,
    last_error text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT agent_test_schedules_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT agent_test_schedules_name_check CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT agent_test_schedules_cron_check CHECK (char_length(cron) BETWEEN 1 AND 100 AND char_length(time_zone) BETWEEN 1 AND 100),
    CONSTRAINT agent_test_schedules_tests_check CHECK (jsonb_typeof(test_ids) = 'array' AND jsonb_array_length(test_ids) BETWEEN 1 AND 200),
    CONSTRAINT agent_test_schedules_next_check CHECK (is_enabled OR next_run_at IS NULL)
);

CREATE INDEX agent_test_schedules_list_idx ON agent_test_schedules (company_id, created_at DESC, id DESC);

CREATE INDEX agent_test_schedules_due_idx ON agent_test_schedules (company_id, next_run_at) WHERE next_run_at IS NOT NULL;

ALTER TABLE agent_test_executions
    ADD COLUMN schedule_id text,
    ADD COLUMN scheduled_for timestamptz;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions DROP COLUMN schedule_id, DROP COLUMN scheduled_for;

DROP TABLE agent_test_schedules;
