-- Expands: Labels of people on verdicts of the judge. Runs have the name of the judge, and whether the verdict is
-- doubtful. Older programs write NULL for both.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE agent_test_runs
    ADD COLUMN judge_model text,
    ADD COLUMN judge_prompt text,
    ADD COLUMN is_doubtful boolean;

ALTER TABLE agent_test_runs
    ADD CONSTRAINT agent_test_runs_judge_check CHECK (
        char_length(judge_model) BETWEEN 1 AND 200 AND char_length(judge_prompt) BETWEEN 1 AND 64
    ) NOT VALID;

CREATE TABLE criterion_labels (
    company_id text NOT NULL,
    id text NOT NULL,
    run_id text NOT NULL,
    execution_id text NOT NULL,
    digest text NOT NULL,
    criterion text NOT NULL,
    person text NOT NULL,
    holds boolean NOT NULL,
    note text,
    is_sampled boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT criterion_labels_pkey PRIMARY KEY (company_id, id),
    CONSTRAINT criterion_labels_person_key UNIQUE (company_id, run_id, digest, person),
    CONSTRAINT criterion_labels_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT criterion_labels_digest_check CHECK (char_length(digest) = 64),
    CONSTRAINT criterion_labels_criterion_check CHECK (char_length(criterion) BETWEEN 1 AND 2000),
    CONSTRAINT criterion_labels_person_check CHECK (char_length(person) BETWEEN 1 AND 100),
    CONSTRAINT criterion_labels_note_check CHECK (char_length(note) BETWEEN 1 AND 1000),
    CONSTRAINT criterion_labels_run_fkey FOREIGN KEY (company_id, run_id)
        REFERENCES agent_test_runs (company_id, id) ON DELETE CASCADE
);

CREATE INDEX criterion_labels_execution_idx ON criterion_labels (company_id, execution_id, created_at DESC, id DESC);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE criterion_labels;

ALTER TABLE agent_test_runs
    DROP COLUMN judge_model,
    DROP COLUMN judge_prompt,
    DROP COLUMN is_doubtful;
-- +goose StatementEnd
