-- The version of a campaign numbers the changes of its items. The revision counts all other changes of the campaign, so
-- that followers see them even if a signal is lost. It is NULL before the first such change, so that processes of the
-- previous version can still write campaigns.

-- +goose Up
ALTER TABLE campaigns ADD COLUMN revision int;

-- +goose Down
ALTER TABLE campaigns DROP COLUMN revision;
