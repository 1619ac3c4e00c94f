-- Items number their changes by their campaign's version. What changes of a campaign without an item being changed counts
-- here, so that whoever follows the campaign sees it even if a signal was lost. It is NULL until then, so that a process of
-- the version before may go on writing campaigns.

-- +goose Up
ALTER TABLE campaigns ADD COLUMN revision int;

-- +goose Down
ALTER TABLE campaigns DROP COLUMN revision;
