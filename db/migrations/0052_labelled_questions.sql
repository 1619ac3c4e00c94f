-- Expands: Questions with known answers. A question is deleted with the document that answers it.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE labelled_questions (
    company_id text NOT NULL,
    id text NOT NULL,
    dataset_id text NOT NULL,
    document_id text NOT NULL,
    question text NOT NULL,
    passage text,
    created_at timestamptz NOT NULL,
    CONSTRAINT labelled_questions_pkey PRIMARY KEY (company_id, id),
    CONSTRAINT labelled_questions_id_check CHECK (char_length(id) BETWEEN 1 AND 64),
    CONSTRAINT labelled_questions_question_check CHECK (char_length(question) BETWEEN 1 AND 2000),
    CONSTRAINT labelled_questions_passage_check CHECK (char_length(passage) BETWEEN 1 AND 2000),
    CONSTRAINT labelled_questions_document_fkey FOREIGN KEY (company_id, dataset_id, document_id)
        REFERENCES documents (company_id, dataset_id, id) ON DELETE CASCADE
);

CREATE INDEX labelled_questions_dataset_idx ON labelled_questions (company_id, dataset_id, document_id);
-- +goose StatementEnd

-- +goose Down
DROP TABLE labelled_questions;
