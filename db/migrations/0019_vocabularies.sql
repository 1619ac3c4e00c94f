-- Corrections of misspelled words are now found in memory. No query reads trigrams any more, but every indexing wrote
-- them. The extension stays, because other programs may use it.

-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS dataset_terms_near_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS dataset_terms_near_idx;

CREATE INDEX CONCURRENTLY dataset_terms_near_idx ON dataset_terms USING gin (company_id, dataset_id, term gin_trgm_ops);
