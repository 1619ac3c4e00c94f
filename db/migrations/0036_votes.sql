-- +goose Up
-- How often the judge is asked about a criterion. Older programs know nothing of it, and ask once.
ALTER TABLE agent_test_executions ADD COLUMN votes int NOT NULL DEFAULT 1 CHECK (votes IN (1, 3, 5));

-- +goose Down
ALTER TABLE agent_test_executions DROP COLUMN votes;
