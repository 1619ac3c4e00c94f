-- Expands: The scope mutate of keys and access tokens. An older program refuses such a key.

-- +goose Up
ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_check;

ALTER TABLE api_keys
    ADD CONSTRAINT api_keys_scopes_check CHECK (
        scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'mutate', 'chat', 'admin']
        AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
    ) NOT VALID;

ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_scopes_check;

ALTER TABLE access_tokens
    ADD CONSTRAINT access_tokens_scopes_check CHECK (
        scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'mutate', 'chat', 'admin']
        AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
    ) NOT VALID;

-- +goose Down
DELETE FROM access_tokens WHERE scopes @> ARRAY['mutate'];

ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_scopes_check;

ALTER TABLE access_tokens
    ADD CONSTRAINT access_tokens_scopes_check CHECK (
        scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'chat', 'admin']
        AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
    ) NOT VALID;

-- A key with this scope alone could do nothing, so it is revoked.
UPDATE api_keys SET scopes = ARRAY['browse'], revoked_at = coalesce(revoked_at, created_at) WHERE scopes = ARRAY['mutate'];

UPDATE api_keys SET scopes = array_remove(scopes, 'mutate') WHERE scopes @> ARRAY['mutate'];

ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_check;

ALTER TABLE api_keys
    ADD CONSTRAINT api_keys_scopes_check CHECK (
        scopes <@ ARRAY['read', 'browse', 'prompts', 'contacts', 'consumption', 'write', 'simulate', 'chat', 'admin']
        AND cardinality(scopes) > 0 AND (NOT scopes @> ARRAY['chat'] OR cardinality(scopes) = 1)
    ) NOT VALID;
