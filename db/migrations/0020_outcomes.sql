-- That a call for real was begun, and nobody knows what came of it, was told by the text of its error alone. It decides
-- whether a contact may be transferred once more, so it has a column of its own, and the text is only to be read. It is
-- NULL for all other calls, so that a process of the version before may go on writing them.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE tool_calls ADD COLUMN is_outcome_unknown boolean;

UPDATE tool_calls SET is_outcome_unknown = true WHERE error = 'the call was begun, and what came of it is not known';
-- +goose StatementEnd

-- +goose Down
ALTER TABLE tool_calls DROP COLUMN is_outcome_unknown;
