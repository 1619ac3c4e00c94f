-- How long each kind of a company's data is kept. A kind without a row is kept forever.

-- +goose Up
CREATE TABLE retentions (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    kind text NOT NULL,
    days int NOT NULL,
    PRIMARY KEY (company_id, kind),
    CONSTRAINT retentions_kind_check CHECK (kind IN ('Chats', 'Executions', 'CampaignItems', 'Tombstones')),
    CONSTRAINT retentions_days_check CHECK (days BETWEEN 1 AND 40000)
);

-- +goose Down
DROP TABLE retentions;
