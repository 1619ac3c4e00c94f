-- Tests that a retry leaves out, because they were deleted. NULL if there are none.

-- +goose Up
ALTER TABLE agent_test_executions ADD COLUMN left_out_tests jsonb CHECK (jsonb_typeof(left_out_tests) = 'array');

-- +goose Down
ALTER TABLE agent_test_executions DROP COLUMN left_out_tests;
