-- Documents of datasets, and their chunks. Every transaction locks datasets before documents. The extensions stay when
-- the tables are dropped, because other programs may use them.

-- +goose Up
-- +goose StatementBegin
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The kind of a job decides which worker it gets.
ALTER TABLE jobs ADD COLUMN kind text CHECK (char_length(kind) BETWEEN 1 AND 32);

UPDATE jobs SET kind = 'agentTestRun';

ALTER TABLE jobs ALTER COLUMN kind SET NOT NULL;

-- indexing_id names the current indexing and its job. A worker with an earlier indexing writes nothing.
CREATE TABLE documents (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    dataset_id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    content_type text NOT NULL CHECK (char_length(content_type) BETWEEN 1 AND 255),
    size int NOT NULL CHECK (size >= 0),
    status text NOT NULL CHECK (status IN ('Pending', 'Indexing', 'Ready', 'Failed')),
    error text CHECK (char_length(error) BETWEEN 1 AND 1000),
    warning text CHECK (char_length(warning) BETWEEN 1 AND 1000),
    chunk_count int NOT NULL CHECK (chunk_count >= 0),
    embedding_model text CHECK (char_length(embedding_model) BETWEEN 1 AND 255),
    indexing_id text NOT NULL CHECK (char_length(indexing_id) BETWEEN 1 AND 64),
    claim int NOT NULL CHECK (claim >= 0),
    created_at timestamptz NOT NULL,
    indexed_at timestamptz,
    PRIMARY KEY (company_id, id),
    CONSTRAINT documents_dataset_key UNIQUE (company_id, dataset_id, id),
    CONSTRAINT documents_indexing_key UNIQUE (company_id, indexing_id),
    CONSTRAINT documents_failed_check CHECK ((status = 'Failed') = (error IS NOT NULL)),
    CONSTRAINT documents_claimed_check CHECK (CASE status WHEN 'Pending' THEN claim = 0 ELSE claim > 0 END),
    CONSTRAINT documents_ready_check CHECK (CASE status WHEN 'Ready' THEN indexed_at IS NOT NULL ELSE true END),
    FOREIGN KEY (company_id, dataset_id) REFERENCES datasets (company_id, id) ON DELETE CASCADE
);

CREATE INDEX documents_dataset_idx ON documents (company_id, dataset_id, created_at DESC, id DESC);

CREATE INDEX documents_list_idx ON documents (company_id, created_at DESC, id DESC);

-- The unchanged file, in parts, so that it can be indexed again.
CREATE TABLE document_contents (
    company_id text NOT NULL,
    document_id text NOT NULL,
    part int NOT NULL CHECK (part >= 0),
    content bytea NOT NULL,
    PRIMARY KEY (company_id, document_id, part),
    FOREIGN KEY (company_id, document_id) REFERENCES documents (company_id, id) ON DELETE CASCADE
);

-- search has the terms of the content. The program makes the terms of questions in the same way. Long values are stored
-- out of line and ids are not, so that a search that reads many rows reads few pages.
CREATE TABLE chunks (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    dataset_id text NOT NULL,
    document_id text NOT NULL,
    position int NOT NULL CHECK (position >= 0),
    content text NOT NULL,
    tokens int NOT NULL CHECK (tokens >= 0),
    search tsvector NOT NULL,
    embedding real[],
    created_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    CONSTRAINT chunks_position_key UNIQUE (company_id, document_id, position),
    FOREIGN KEY (company_id, dataset_id, document_id) REFERENCES documents (company_id, dataset_id, id) ON DELETE CASCADE
) WITH (toast_tuple_target = 128);

ALTER TABLE chunks
    ALTER COLUMN company_id SET STORAGE PLAIN,
    ALTER COLUMN id SET STORAGE PLAIN,
    ALTER COLUMN dataset_id SET STORAGE PLAIN,
    ALTER COLUMN document_id SET STORAGE PLAIN;

CREATE INDEX chunks_document_idx ON chunks (company_id, document_id, created_at, id);

CREATE INDEX chunks_dataset_idx ON chunks (company_id, dataset_id);

CREATE INDEX chunks_search_idx ON chunks USING gin (company_id, dataset_id, search);

-- The terms of a dataset's chunks, and how many chunks contain each. Rows change with every document, so pages have
-- free space for new versions of rows.
CREATE TABLE dataset_terms (
    company_id text NOT NULL,
    dataset_id text NOT NULL,
    term text NOT NULL,
    chunks int NOT NULL,
    PRIMARY KEY (company_id, dataset_id, term),
    FOREIGN KEY (company_id, dataset_id) REFERENCES datasets (company_id, id) ON DELETE CASCADE
) WITH (fillfactor = 60);

CREATE INDEX dataset_terms_near_idx ON dataset_terms USING gin (company_id, dataset_id, term gin_trgm_ops);
-- +goose StatementEnd

-- +goose Down
DROP TABLE dataset_terms;
DROP TABLE chunks;
DROP TABLE document_contents;
DROP TABLE documents;
ALTER TABLE jobs DROP COLUMN kind;
