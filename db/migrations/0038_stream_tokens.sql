-- Access tokens that allow only one subscription.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE access_tokens ADD COLUMN subscription text;

ALTER TABLE access_tokens ADD CONSTRAINT access_tokens_subscription_check CHECK (char_length(subscription) BETWEEN 1 AND 100);
-- +goose StatementEnd

-- +goose Down
-- The previous version would ignore the restriction of these tokens.
DELETE FROM access_tokens WHERE subscription IS NOT NULL;

ALTER TABLE access_tokens DROP COLUMN subscription;
