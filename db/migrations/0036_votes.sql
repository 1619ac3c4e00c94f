-- +goose Up
-- +goose StatementBegin
-- How often the judge evaluates a criterion. Older programs ignore the column and evaluate it once.
ALTER TABLE agent_test_executions ADD COLUMN votes int NOT NULL DEFAULT 1;

ALTER TABLE agent_test_executions ADD CONSTRAINT agent_test_executions_votes_check CHECK (votes IN (1, 3, 5));
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_executions DROP COLUMN votes;
