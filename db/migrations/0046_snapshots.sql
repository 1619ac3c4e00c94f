-- Contracts: Snapshots of the tests and agents of an execution at its start. Its runs share them. Older runs keep their
-- own copies. An older program cannot work on runs without a copy, so stop it before this step.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE agent_test_snapshots (
    company_id text NOT NULL,
    execution_id text NOT NULL,
    id text NOT NULL,
    -- The agent of a test, or NULL for an agent.
    agent_id text,
    definition json NOT NULL,
    PRIMARY KEY (company_id, execution_id, id),
    CONSTRAINT agent_test_snapshots_definition_check CHECK (json_typeof(definition) = 'object'),
    CONSTRAINT agent_test_snapshots_execution_fkey FOREIGN KEY (company_id, execution_id)
        REFERENCES agent_test_executions (company_id, id) ON DELETE CASCADE
);

ALTER TABLE agent_test_runs ALTER COLUMN snapshot DROP NOT NULL;
-- +goose StatementEnd

-- +goose Down
UPDATE agent_test_runs AS run SET snapshot = json_build_object('test', test.definition, 'agent', agent.definition,
    'virtualTime', execution.virtual_time, 'votes', execution.votes, 'judgeModel', coalesce(execution.judge_model, ''))
FROM agent_test_snapshots AS test
JOIN agent_test_snapshots AS agent ON agent.company_id = test.company_id AND agent.execution_id = test.execution_id AND agent.id = test.agent_id
JOIN agent_test_executions AS execution ON execution.company_id = test.company_id AND execution.id = test.execution_id
WHERE run.snapshot IS NULL AND test.company_id = run.company_id AND test.execution_id = run.execution_id AND test.id = run.tested_id;

ALTER TABLE agent_test_runs ALTER COLUMN snapshot SET NOT NULL;

DROP TABLE agent_test_snapshots;
