-- Indexes for lists of companies that have grown. They are built while everybody writes. A build that failed leaves an
-- index that nobody reads: the whole step is done again then, so each begins by dropping it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agents_filter_idx;

-- A name's characters and pairs of neighbours, small and without line ends, so that a part of any length and of any
-- signs is found; trigrams would need three letters or digits. Pairs come of doubling every character, leaving out the
-- first, and cutting after every second. There is no pending list, which every search would read.
CREATE INDEX CONCURRENTLY agents_filter_idx ON agents USING gin (
    company_id,
    (
        string_to_array(translate(lower(name), E'\n', ' '), NULL)
        || string_to_array(regexp_replace(substr(regexp_replace(translate(lower(name), E'\n', ' '), '(.)', '\1\1', 'g'), 2), '(..)', E'\\1\n', 'g'), E'\n')
    ),
    tags jsonb_path_ops
) WITH (fastupdate = off);

DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_status_idx;

CREATE INDEX CONCURRENTLY agent_test_runs_status_idx ON agent_test_runs (company_id, status, created_at DESC, id DESC);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agent_test_runs_status_idx;

DROP INDEX CONCURRENTLY IF EXISTS agents_filter_idx;
