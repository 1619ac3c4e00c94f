-- Chunks in scripts without spaces get the overlapping pairs of their characters as terms. The characters alone are
-- among their terms already, and nothing is embedded again.

-- +goose Up
-- +goose StatementBegin
CREATE TEMPORARY TABLE added ON COMMIT DROP AS
SELECT chunk.company_id, chunk.id, chunk.dataset_id, chunk.search, string_agg(pair.word, ' ' ORDER BY run.place, pair.place) AS words
FROM (
    SELECT company_id, id, dataset_id, search, normalize(lower(content), NFKC) AS content FROM chunks
    WHERE content ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u19E0-\u19FF\u2E80-\u2FD5\u3005-\u3007\u3021-\u3029\u3038-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA9E0-\uA9FE\uAA60-\uAA7F\uF900-\uFAD9\uFF66-\uFF9F\U00020000-\U000323AF]'
) AS chunk
CROSS JOIN LATERAL regexp_matches(chunk.content,
    '[\u0E01-\u0E3A\u0E40-\u0E5B\u0E80-\u0EFF\u1000-\u109F\u1780-\u17FF\u19E0-\u19FF\u2E80-\u2FD5\u3005\u3007\u3021-\u3029\u3038-\u303B\u3041-\u309F\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA9E0-\uA9FE\uAA60-\uAA7F\uF900-\uFAD9\U00020000-\U000323AF]{2,}',
    'g') WITH ORDINALITY AS run (words, place)
CROSS JOIN LATERAL (
    SELECT place, substr(run.words[1], place, 2) AS word FROM generate_series(1, length(run.words[1]) - 1) AS place
) AS pair
GROUP BY chunk.company_id, chunk.id, chunk.dataset_id, chunk.search;

INSERT INTO dataset_terms AS known (company_id, dataset_id, term, chunks)
SELECT added.company_id, added.dataset_id, term, count(*)
FROM added CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', added.words))) AS term
WHERE term <> ALL (tsvector_to_array(added.search))
GROUP BY added.company_id, added.dataset_id, term
ON CONFLICT (company_id, dataset_id, term) DO UPDATE SET chunks = known.chunks + excluded.chunks;

UPDATE chunks SET search = chunks.search || to_tsvector('pg_catalog.simple', added.words)
FROM added WHERE added.company_id = chunks.company_id AND added.id = chunks.id;
-- +goose StatementEnd

-- +goose Down
-- The terms that the program before this made are among those that the chunks have.
SELECT 1;
