-- Postgres makes the terms of chunks from words that the program has folded. A stop word of one language is not stemmed
-- by the other.

-- +goose Up
-- +goose StatementBegin
CREATE TEXT SEARCH DICTIONARY english_stop (TEMPLATE = pg_catalog.simple, STOPWORDS = english, ACCEPT = false);

CREATE TEXT SEARCH DICTIONARY french_stop (TEMPLATE = pg_catalog.simple, STOPWORDS = french, ACCEPT = false);

CREATE TEXT SEARCH CONFIGURATION knowledge_english (COPY = pg_catalog.english);

ALTER TEXT SEARCH CONFIGURATION knowledge_english ALTER MAPPING FOR asciiword, word WITH french_stop, english_stem;

CREATE TEXT SEARCH CONFIGURATION knowledge_french (COPY = pg_catalog.french);

ALTER TEXT SEARCH CONFIGURATION knowledge_french ALTER MAPPING FOR asciiword, word WITH english_stop, french_stem;

-- The terms of existing chunks include their words.
DROP INDEX chunks_search_idx;

UPDATE chunks SET search = chunks.search
    || strip(to_tsvector('pg_catalog.simple', known.words))
    || strip(to_tsvector('knowledge_english', known.words))
    || strip(to_tsvector('knowledge_french', replace(replace(known.words || ' ', 'ees ', 'es '), 'ee ', 'e ')))
FROM (
    -- Names such as example.com were one term. They are now split like other words, but decimals are not.
    SELECT company_id, id, array_to_string(ARRAY(
        SELECT CASE WHEN term ~ '^[0-9.,]+$' THEN replace(term, ',', '.') ELSE translate(term, '.,:;_', '     ') END
        FROM unnest(tsvector_to_array(search)) AS term), ' ') AS words
    FROM chunks
) AS known
WHERE known.company_id = chunks.company_id AND known.id = chunks.id;

CREATE INDEX chunks_search_idx ON chunks USING gin (company_id, dataset_id, search);

DELETE FROM dataset_terms;

INSERT INTO dataset_terms (company_id, dataset_id, term, chunks)
SELECT chunks.company_id, chunks.dataset_id, term, count(*)
FROM chunks CROSS JOIN LATERAL unnest(tsvector_to_array(chunks.search)) AS term
GROUP BY chunks.company_id, chunks.dataset_id, term;
-- +goose StatementEnd

-- +goose Down
-- The chunks still have the terms that the previous version needs.
DROP TEXT SEARCH CONFIGURATION knowledge_french;
DROP TEXT SEARCH CONFIGURATION knowledge_english;
DROP TEXT SEARCH DICTIONARY french_stop;
DROP TEXT SEARCH DICTIONARY english_stop;
