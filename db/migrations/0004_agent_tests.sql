-- Every transaction locks rows in one order: agents, folders, tests, executions, runs. A change of a run locks its
-- execution, which numbers the changes.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE agent_test_folders (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    color text NOT NULL CHECK (color ~ '^#[0-9A-Fa-f]{6}$'),
    body text NOT NULL CHECK (char_length(body) <= 20000),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX agent_test_folders_name_key ON agent_test_folders (company_id, agent_id, lower(name));

CREATE TABLE agent_tests (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    folder_id text,
    kind text NOT NULL CHECK (kind IN ('Simulation', 'Classification')),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    last_run_id text,
    last_run_status text CHECK (last_run_status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled')),
    last_run_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    scenario text CHECK (char_length(scenario) BETWEEN 1 AND 10000),
    criteria jsonb CHECK (jsonb_typeof(criteria) = 'array' AND jsonb_array_length(criteria) BETWEEN 1 AND 30),
    max_turns int CHECK (max_turns BETWEEN 1 AND 30),
    conversation_messages json CHECK (
        json_typeof(conversation_messages) = 'array' AND json_array_length(conversation_messages) <= 200
    ),
    variables json CHECK (json_typeof(variables) = 'object'),
    tool_mocking jsonb CHECK (jsonb_typeof(tool_mocking) = 'object'),
    conversation_context json CHECK (
        conversation_context IS NULL OR (
            json_array_length(conversation_context -> 'messages') BETWEEN 1 AND 200
            AND json_typeof(conversation_context -> 'dataBag') = 'object'
        ) IS TRUE
    ),
    tag_expected text CHECK (char_length(tag_expected) BETWEEN 1 AND 100),
    PRIMARY KEY (company_id, id),
    CONSTRAINT agent_tests_last_run_check CHECK (num_nulls(last_run_id, last_run_status, last_run_at) IN (0, 3)),
    CONSTRAINT agent_tests_simulation_check CHECK (
        num_nulls(scenario, criteria, max_turns, conversation_messages, variables, tool_mocking)
        = CASE kind WHEN 'Simulation' THEN 0 ELSE 6 END
    ),
    CONSTRAINT agent_tests_classification_check CHECK (
        num_nulls(conversation_context, tag_expected) = CASE kind WHEN 'Classification' THEN 0 ELSE 2 END
    ),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE,
    FOREIGN KEY (company_id, folder_id) REFERENCES agent_test_folders (company_id, id)
);

CREATE INDEX agent_tests_list_idx ON agent_tests (company_id, created_at DESC, id DESC);

CREATE INDEX agent_tests_agent_idx ON agent_tests (company_id, agent_id, created_at DESC, id DESC);

CREATE INDEX agent_tests_folder_idx ON agent_tests (company_id, folder_id, created_at DESC, id DESC);

CREATE INDEX agent_tests_last_run_idx ON agent_tests (company_id, last_run_id);

CREATE TABLE agent_test_executions (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text,
    repeats int NOT NULL CHECK (repeats BETWEEN 1 AND 5),
    concurrency int NOT NULL CHECK (concurrency BETWEEN 1 AND 50),
    virtual_time boolean NOT NULL,
    status text NOT NULL CHECK (status IN ('Queued', 'Running', 'Completed', 'Cancelled')),
    retry_of_id text,
    unfinished int NOT NULL CHECK (unfinished >= 0),
    next_position int NOT NULL CHECK (next_position >= 0),
    version int NOT NULL CHECK (version >= 1),
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (company_id, id),
    CONSTRAINT agent_test_executions_finished_check CHECK (
        (unfinished = 0) = (finished_at IS NOT NULL) AND (status <> 'Completed' OR unfinished = 0)
    ),
    CONSTRAINT agent_test_executions_begun_check CHECK (
        CASE status WHEN 'Queued' THEN started_at IS NULL WHEN 'Cancelled' THEN true ELSE started_at IS NOT NULL END
    ),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id),
    FOREIGN KEY (company_id, retry_of_id) REFERENCES agent_test_executions (company_id, id)
);

CREATE INDEX agent_test_executions_list_idx ON agent_test_executions (company_id, created_at DESC, id DESC);

CREATE INDEX agent_test_executions_agent_idx ON agent_test_executions (company_id, agent_id, created_at DESC, id DESC);

CREATE INDEX agent_test_executions_unfinished_idx ON agent_test_executions (company_id, id) WHERE unfinished > 0;

CREATE INDEX agent_test_executions_retry_idx ON agent_test_executions (company_id, retry_of_id);

CREATE TABLE agent_test_runs (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    execution_id text NOT NULL,
    test_id text,
    tested_id text NOT NULL,
    test_name text NOT NULL CHECK (char_length(test_name) BETWEEN 1 AND 255),
    position int NOT NULL CHECK (position >= 0),
    attempt int NOT NULL CHECK (attempt BETWEEN 1 AND 5),
    status text NOT NULL CHECK (status IN ('Queued', 'Running', 'Passed', 'Failed', 'Error', 'Cancelled')),
    snapshot json NOT NULL CHECK (json_typeof(snapshot) = 'object'),
    prompt_version int NOT NULL CHECK (prompt_version >= 1),
    claim int NOT NULL CHECK (claim >= 0),
    lost int NOT NULL CHECK (lost BETWEEN 0 AND 3),
    messages json NOT NULL CHECK (json_typeof(messages) = 'array'),
    tool_calls json NOT NULL CHECK (json_typeof(tool_calls) = 'array'),
    turn_count int NOT NULL CHECK (turn_count >= 0),
    end_reason text,
    criteria_results json NOT NULL CHECK (json_typeof(criteria_results) = 'array'),
    classification_result json CHECK (json_typeof(classification_result) = 'object'),
    error json CHECK (json_typeof(error) = 'object'),
    version int NOT NULL CHECK (version >= 1),
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    duration_ms int CHECK (duration_ms >= 0),
    PRIMARY KEY (company_id, id),
    CONSTRAINT agent_test_runs_position_key UNIQUE (company_id, execution_id, position),
    CONSTRAINT agent_test_runs_started_check CHECK (
        (started_at IS NULL OR claim > 0)
        AND CASE WHEN status = 'Queued' THEN started_at IS NULL WHEN status IN ('Error', 'Cancelled') THEN true ELSE started_at IS NOT NULL END
    ),
    CONSTRAINT agent_test_runs_finished_check CHECK ((status IN ('Queued', 'Running')) = (finished_at IS NULL)),
    CONSTRAINT agent_test_runs_duration_check CHECK ((duration_ms IS NULL) = (started_at IS NULL OR finished_at IS NULL)),
    CONSTRAINT agent_test_runs_cause_check CHECK ((status = 'Error') = (error IS NOT NULL)),
    FOREIGN KEY (company_id, execution_id) REFERENCES agent_test_executions (company_id, id) ON DELETE CASCADE,
    FOREIGN KEY (company_id, test_id) REFERENCES agent_tests (company_id, id)
);

CREATE INDEX agent_test_runs_list_idx ON agent_test_runs (company_id, created_at DESC, id DESC);

CREATE INDEX agent_test_runs_execution_idx ON agent_test_runs (company_id, execution_id, created_at DESC, id DESC);

CREATE INDEX agent_test_runs_version_idx ON agent_test_runs (company_id, execution_id, version, position);

CREATE INDEX agent_test_runs_test_idx ON agent_test_runs (company_id, test_id, created_at DESC, id DESC);

CREATE INDEX agent_test_runs_tested_idx ON agent_test_runs (company_id, tested_id, created_at DESC, id DESC);

ALTER TABLE agent_tests ADD FOREIGN KEY (company_id, last_run_id) REFERENCES agent_test_runs (company_id, id);
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_tests DROP CONSTRAINT agent_tests_company_id_last_run_id_fkey;
DROP TABLE agent_test_runs;
DROP TABLE agent_test_executions;
DROP TABLE agent_tests;
DROP TABLE agent_test_folders;
