-- Restricted credentials for pages in browsers, and scopes that allow to read only a part of the data.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_check;

ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_check CHECK (
    scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'chat', 'admin']
    AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
);

ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_scopes_check;

ALTER TABLE access_tokens
    ADD COLUMN origins text[] CHECK (cardinality(origins) BETWEEN 1 AND 20),
    ADD COLUMN agent_ids text[] CHECK (cardinality(agent_ids) BETWEEN 1 AND 100),
    ADD COLUMN holder bytea CHECK (octet_length(holder) = 32),
    ADD CONSTRAINT access_tokens_scopes_check CHECK (
        scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'chat', 'admin']
        AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
    ),
    -- Tokens with the scope chat always have a holder. Only they can be restricted to agents.
    ADD CONSTRAINT access_tokens_narrowing_check CHECK (
        (scopes @> ARRAY['chat']) = (holder IS NOT NULL) AND (holder IS NOT NULL OR agent_ids IS NULL)
    );

-- The owner of a chat that was started with the scope chat.
ALTER TABLE simulation_chats ADD COLUMN holder bytea CHECK (octet_length(holder) = 32);
-- +goose StatementEnd

-- +goose Down
ALTER TABLE simulation_chats DROP COLUMN holder;

-- The previous version would ignore the restrictions of these credentials, so they are deleted.
DELETE FROM access_tokens
WHERE NOT scopes <@ ARRAY['read', 'write', 'simulate', 'admin'] OR origins IS NOT NULL;

ALTER TABLE access_tokens
    DROP CONSTRAINT access_tokens_scopes_check,
    DROP COLUMN origins,
    DROP COLUMN agent_ids,
    DROP COLUMN holder;

ALTER TABLE access_tokens ADD CONSTRAINT access_tokens_scopes_check CHECK (
    scopes <@ ARRAY['read', 'write', 'simulate', 'admin'] AND cardinality(scopes) > 0
);

ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_check;

UPDATE api_keys SET scopes = ARRAY['read'], revoked_at = coalesce(revoked_at, now())
WHERE NOT scopes <@ ARRAY['read', 'write', 'simulate', 'admin'];

ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_check CHECK (
    scopes <@ ARRAY['read', 'write', 'simulate', 'admin'] AND cardinality(scopes) > 0
);
