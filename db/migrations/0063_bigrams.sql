-- Expands: Chunks in scripts without spaces get the overlapping pairs of their characters as terms. They already have
-- the single characters as terms, and no vectors are computed again. Chunks that an older process indexes after this
-- step have no pairs. Words do not find these chunks until they are indexed again.

-- +goose Up
-- +goose StatementBegin
UPDATE chunks SET search = chunks.search || added.pairs::tsvector
FROM (
    SELECT company_id, id, string_agg('''' || pair || ''':' || least(place, 16383), ' ') AS pairs
    FROM (
        SELECT chunk.company_id, chunk.id, letter.place,
            letter.value || lead(letter.value) OVER (PARTITION BY chunk.company_id, chunk.id ORDER BY letter.place) AS pair
        FROM (
            SELECT company_id, id, normalize(lower(content), NFKC) AS content FROM chunks
            WHERE normalize(content, NFKC) ~ '[\u0E01-\u0E3A\u0E40-\u0E5B\u0E80-\u0EFF\u1000-\u109F\u1780-\u17FF\u19E0-\u19FF\u2E80-\u2FD5\u3005\u3007\u3021-\u3029\u3038-\u303B\u3041-\u309F\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA9E0-\uA9FE\uAA60-\uAA7F\uF900-\uFAD9\U00020000-\U000323AF]{2}'
        ) AS chunk
        CROSS JOIN LATERAL unnest(string_to_array(chunk.content, NULL)) WITH ORDINALITY AS letter (value, place)
    ) AS letters
    WHERE pair ~ '^[\u0E01-\u0E3A\u0E40-\u0E5B\u0E80-\u0EFF\u1000-\u109F\u1780-\u17FF\u19E0-\u19FF\u2E80-\u2FD5\u3005\u3007\u3021-\u3029\u3038-\u303B\u3041-\u309F\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA9E0-\uA9FE\uAA60-\uAA7F\uF900-\uFAD9\U00020000-\U000323AF]{2}$'
    GROUP BY company_id, id
) AS added
WHERE added.company_id = chunks.company_id AND added.id = chunks.id;

INSERT INTO dataset_terms AS known (company_id, dataset_id, term, chunks)
SELECT chunks.company_id, chunks.dataset_id, term, count(*)
FROM chunks CROSS JOIN LATERAL unnest(tsvector_to_array(chunks.search)) AS term
WHERE term ~ '^[\u0E01-\u0E3A\u0E40-\u0E5B\u0E80-\u0EFF\u1000-\u109F\u1780-\u17FF\u19E0-\u19FF\u2E80-\u2FD5\u3005\u3007\u3021-\u3029\u3038-\u303B\u3041-\u309F\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA9E0-\uA9FE\uAA60-\uAA7F\uF900-\uFAD9\U00020000-\U000323AF]{2}$'
GROUP BY chunks.company_id, chunks.dataset_id, term
ON CONFLICT (company_id, dataset_id, term) DO UPDATE SET chunks = excluded.chunks;
-- +goose StatementEnd

-- +goose Down
-- The chunks still have the terms that the previous version needs.
SELECT 1;
