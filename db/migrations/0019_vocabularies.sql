-- What a misspelled word may stand for is found in memory: nobody reads trigrams any more, and every document that is
-- indexed wrote them. The extension stays: others may use it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS dataset_terms_near_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS dataset_terms_near_idx;

CREATE INDEX CONCURRENTLY dataset_terms_near_idx ON dataset_terms USING gin (company_id, dataset_id, term gin_trgm_ops);
