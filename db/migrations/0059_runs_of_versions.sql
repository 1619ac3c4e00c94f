-- Expands: The results of a prompt version are counted from the last judged runs of each test with that version. The
-- index is built while other sessions write. A failed build leaves an invalid index, so the step drops it before it
-- starts again.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_prompt_version_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_prompt_version_idx ON agent_test_runs (company_id, test_id, prompt_version, created_at DESC, id DESC)
WHERE status IN ('Passed', 'Failed') AND is_draft IS NULL AND rejudge_of_id IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_prompt_version_idx;
