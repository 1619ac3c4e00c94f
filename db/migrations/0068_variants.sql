-- Expands: Variants of an execution, and the variant of each run. The snapshots of their agents have the id
-- `agent/label`. An older program cannot work on runs with a variant, so start no such execution while one is running.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agent_test_executions
    ADD COLUMN variants jsonb,
    ADD CONSTRAINT agent_test_executions_variants_check CHECK (jsonb_typeof(variants) = 'array') NOT VALID;
ALTER TABLE agent_test_executions
    DROP CONSTRAINT agent_test_executions_draft_check,
    ADD CONSTRAINT agent_test_executions_draft_check CHECK (
        coalesce(is_draft, false) = (draft_prompt IS NOT NULL OR variants IS NOT NULL)
        AND char_length(draft_prompt) BETWEEN 1 AND 50000
    ) NOT VALID;
ALTER TABLE agent_test_runs
    ADD COLUMN variant text,
    ADD CONSTRAINT agent_test_runs_variant_check CHECK (char_length(variant) BETWEEN 1 AND 60) NOT VALID;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE agent_test_runs
    DROP COLUMN variant;

ALTER TABLE agent_test_executions
    DROP CONSTRAINT agent_test_executions_draft_check,
    ADD CONSTRAINT agent_test_executions_draft_check CHECK (
        coalesce(is_draft, false) = (draft_prompt IS NOT NULL) AND char_length(draft_prompt) BETWEEN 1 AND 50000
    ) NOT VALID;

ALTER TABLE agent_test_executions
    DROP COLUMN variants;
