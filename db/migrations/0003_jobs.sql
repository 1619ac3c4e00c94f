-- +goose Up
-- +goose StatementBegin
-- The jobs of a company. A job waits until river_job_id names the River job that carries it to a worker. The row is
-- deleted when the job is done.
CREATE TABLE jobs (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    attempt int NOT NULL CHECK (attempt >= 0),
    failures int NOT NULL CHECK (failures >= 0),
    losses int NOT NULL CHECK (losses >= 0),
    ready_at timestamptz NOT NULL,
    river_job_id bigint,
    PRIMARY KEY (company_id, id),
    CONSTRAINT jobs_admitted_check CHECK (attempt > 0 OR river_job_id IS NULL)
);

CREATE INDEX jobs_waiting_idx ON jobs (company_id, ready_at, id) WHERE river_job_id IS NULL;

CREATE UNIQUE INDEX jobs_admitted_key ON jobs (company_id, river_job_id) WHERE river_job_id IS NOT NULL;
-- +goose StatementEnd

-- +goose Down
DROP TABLE jobs;
