-- Indexes for lists of large companies. The indexes are built while other sessions write. A failed build leaves an
-- invalid index, so the step drops each index before it builds it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS agents_filter_idx;

-- The characters of a name and its pairs of adjacent characters, in lower case and without line breaks. They find parts
-- of any length and of any characters, whereas trigrams need three letters or digits. To get the pairs, double every
-- character, drop the first, and split after every second. There is no pending list, because every search would read
-- it.
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
