-- The column is set if a real call was started and its outcome is unknown. It decides whether a contact may be
-- transferred again. Until now, only the text of the error showed this. It is NULL for all other calls, so that
-- processes of the previous version can still write them.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE tool_calls ADD COLUMN is_outcome_unknown boolean;

UPDATE tool_calls SET is_outcome_unknown = true WHERE error = 'the call was begun, and what came of it is not known';
-- +goose StatementEnd

-- +goose Down
ALTER TABLE tool_calls DROP COLUMN is_outcome_unknown;
