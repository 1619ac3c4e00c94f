-- Expands: Searches for the change of a prompt that broke a test, at most one for each test, and the executions that
-- are their steps. A search can be deleted before its executions, like a schedule.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE blame_searches (
    company_id text NOT NULL,
    id text NOT NULL,
    test_id text NOT NULL,
    row_key text NOT NULL,
    row_number int,
    row_name text,
    good_version int NOT NULL,
    bad_version int NOT NULL,
    repeats int NOT NULL,
    changes json NOT NULL,
    status text NOT NULL,
    steps json NOT NULL,
    execution_id text NOT NULL,
    verdict text,
    cause json NOT NULL,
    is_only_cause boolean,
    restored_prompt text,
    error text,
    api_key_id text,
    version int NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (company_id, id),
    CONSTRAINT blame_searches_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT blame_searches_test_key UNIQUE (company_id, test_id),
    CONSTRAINT blame_searches_execution_key UNIQUE (company_id, execution_id),
    CONSTRAINT blame_searches_repeats_check CHECK (repeats BETWEEN 4 AND 20),
    CONSTRAINT blame_searches_status_check CHECK (status IN ('Running', 'Completed', 'Cancelled', 'Failed')),
    CONSTRAINT blame_searches_verdict_check CHECK (verdict IN ('Found', 'NotExplained', 'NotReproduced', 'Undecided')),
    CONSTRAINT blame_searches_end_check CHECK ((status = 'Running') = (finished_at IS NULL) AND (status = 'Completed') = (verdict IS NOT NULL)),
    FOREIGN KEY (company_id, test_id) REFERENCES agent_tests (company_id, id) ON DELETE CASCADE
);

ALTER TABLE agent_test_executions
    ADD COLUMN blame_search_id text;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions
    DROP COLUMN blame_search_id;

DROP TABLE blame_searches;
