-- Expands: A note that says why a version of a prompt was written.

-- +goose Up
ALTER TABLE prompt_versions
    ADD COLUMN note text,
    ADD CONSTRAINT prompt_versions_note_check CHECK (char_length(note) BETWEEN 1 AND 500) NOT VALID;

-- +goose Down
ALTER TABLE prompt_versions
    DROP COLUMN note;
