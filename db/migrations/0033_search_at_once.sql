-- A search is fast immediately after chunks are indexed. Every search reads the entries in a pending list, and these
-- make the planner avoid the index. Without statistics, the planner also prefers the shorter index by dataset, and
-- reads all chunks of the dataset. The search index begins with the same columns, so the shorter one is not needed.

-- +goose NO TRANSACTION

-- +goose Up
ALTER INDEX chunks_search_idx SET (fastupdate = off);

SELECT gin_clean_pending_list('chunks_search_idx');

DROP INDEX CONCURRENTLY IF EXISTS chunks_dataset_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS chunks_dataset_idx;

CREATE INDEX CONCURRENTLY chunks_dataset_idx ON chunks (company_id, dataset_id);

ALTER INDEX chunks_search_idx RESET (fastupdate);
