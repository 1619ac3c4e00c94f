-- Expands: A retention for the ledger. One entry for each day, channel, agent and campaign replaces older entries. It
-- may have more credits than a recorded entry. Existing rows satisfy the stricter rule, so they need no check.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE retentions DROP CONSTRAINT retentions_kind_check;

ALTER TABLE retentions ADD CONSTRAINT retentions_kind_check
CHECK (kind IN ('Chats', 'Executions', 'CampaignItems', 'Tombstones', 'Ledger'));

ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_micro_credits_check;

ALTER TABLE usage_entries ADD CONSTRAINT usage_entries_micro_credits_check
CHECK (micro_credits BETWEEN -1000000000000 AND 1000000000000 OR idempotency_key LIKE 'agentgraph:day:%') NOT VALID;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_micro_credits_check;

ALTER TABLE usage_entries ADD CONSTRAINT usage_entries_micro_credits_check
CHECK (micro_credits BETWEEN -1000000000000 AND 1000000000000) NOT VALID;

DELETE FROM retentions WHERE kind = 'Ledger';

ALTER TABLE retentions DROP CONSTRAINT retentions_kind_check;

ALTER TABLE retentions ADD CONSTRAINT retentions_kind_check CHECK (kind IN ('Chats', 'Executions', 'CampaignItems', 'Tombstones'));
