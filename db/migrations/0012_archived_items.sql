-- There are few archived items, and a list of them must not read the whole campaign.

-- +goose Up
CREATE INDEX campaign_items_archived_idx ON campaign_items (company_id, campaign_id, created_at DESC, id DESC)
WHERE is_archived;

-- +goose Down
DROP INDEX campaign_items_archived_idx;
