-- Indexes for the filters and orders of lists of large companies. The indexes are built while other sessions write. A
-- failed build leaves an invalid index, so the step drops each index before it builds it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS documents_name_idx;

-- The characters and pairs of adjacent characters of a name, as in agents_filter_idx.
CREATE INDEX CONCURRENTLY documents_name_idx ON documents USING gin (
    company_id,
    (
        string_to_array(translate(lower(name), E'\n', ' '), NULL)
        || string_to_array(regexp_replace(substr(regexp_replace(translate(lower(name), E'\n', ' '), '(.)', '\1\1', 'g'), 2), '(..)', E'\\1\n', 'g'), E'\n')
    )
) WITH (fastupdate = off);

DROP INDEX CONCURRENTLY IF EXISTS documents_status_idx;

CREATE INDEX CONCURRENTLY documents_status_idx ON documents (company_id, status, created_at DESC, id DESC);

DROP INDEX CONCURRENTLY IF EXISTS campaign_items_number_idx;

CREATE INDEX CONCURRENTLY campaign_items_number_idx ON campaign_items (company_id, campaign_id, phone_number text_pattern_ops);

DROP INDEX CONCURRENTLY IF EXISTS campaign_items_tag_idx;

CREATE INDEX CONCURRENTLY campaign_items_tag_idx ON campaign_items (company_id, campaign_id, (result #>> '{tag,name}'), created_at DESC, id DESC)
WHERE result IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS agents_updated_idx;

CREATE INDEX CONCURRENTLY agents_updated_idx ON agents (company_id, updated_at DESC, id DESC);

DROP INDEX CONCURRENTLY IF EXISTS agents_name_idx;

CREATE INDEX CONCURRENTLY agents_name_idx ON agents (company_id, lower(name), id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS agents_name_idx;

DROP INDEX CONCURRENTLY IF EXISTS agents_updated_idx;

DROP INDEX CONCURRENTLY IF EXISTS campaign_items_tag_idx;

DROP INDEX CONCURRENTLY IF EXISTS campaign_items_number_idx;

DROP INDEX CONCURRENTLY IF EXISTS documents_status_idx;

DROP INDEX CONCURRENTLY IF EXISTS documents_name_idx;
