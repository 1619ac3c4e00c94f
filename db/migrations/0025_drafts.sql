-- Prompts that are tried without being saved, in a chat or in an execution with its runs. is_draft is NULL for all
-- others, so that processes of the previous version can still write them.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE simulation_chats
    ADD COLUMN is_draft boolean,
    ADD COLUMN draft_prompt text,
    ADD CONSTRAINT simulation_chats_draft_check CHECK (
        coalesce(is_draft, false) = (draft_prompt IS NOT NULL) AND char_length(draft_prompt) BETWEEN 1 AND 50000
    );

ALTER TABLE agent_test_executions
    ADD COLUMN is_draft boolean,
    ADD COLUMN draft_prompt text,
    ADD CONSTRAINT agent_test_executions_draft_check CHECK (
        coalesce(is_draft, false) = (draft_prompt IS NOT NULL) AND char_length(draft_prompt) BETWEEN 1 AND 50000
    );

ALTER TABLE agent_test_runs ADD COLUMN is_draft boolean;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_runs DROP COLUMN is_draft;

ALTER TABLE agent_test_executions DROP COLUMN is_draft, DROP COLUMN draft_prompt;

ALTER TABLE simulation_chats DROP COLUMN is_draft, DROP COLUMN draft_prompt;
