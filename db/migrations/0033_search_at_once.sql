-- Chunks are found as fast right after their indexing as later. Entries that wait in a pending list are read by every
-- search, and make the planner avoid the index. So does a shorter index by dataset, from which all chunks of the dataset would be
-- read, as long as no statistics tell how many these are. The search index begins with the same columns.

-- +goose NO TRANSACTION

-- +goose Up
ALTER INDEX chunks_search_idx SET (fastupdate = off);

SELECT gin_clean_pending_list('chunks_search_idx');

DROP INDEX CONCURRENTLY IF EXISTS chunks_dataset_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS chunks_dataset_idx;

CREATE INDEX CONCURRENTLY chunks_dataset_idx ON chunks (company_id, dataset_id);

ALTER INDEX chunks_search_idx RESET (fastupdate);
