-- The ledger is append-only. usage_days and usage_months have its sums, and are written in the same statement. A query
-- for whole days never reads the ledger, and a query for a year reads only the months. Agents and campaigns are named
-- without references, because usage outlives them. A tombstone shows that an id existed. A transaction that changes
-- several tables changes usage last.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE usage_entries (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    idempotency_key text NOT NULL CHECK (char_length(idempotency_key) BETWEEN 1 AND 200),
    channel text NOT NULL CHECK (channel IN ('Phone', 'SMS', 'Web', 'WhatsApp')),
    agent_id text NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 64),
    campaign_id text NOT NULL CHECK (char_length(campaign_id) <= 64),
    micro_credits bigint NOT NULL CHECK (micro_credits BETWEEN -1000000000000 AND 1000000000000),
    at timestamptz NOT NULL,
    PRIMARY KEY (company_id, idempotency_key)
);

CREATE INDEX usage_entries_at_idx ON usage_entries (company_id, at, idempotency_key);

CREATE TABLE usage_days (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    day date NOT NULL,
    channel text NOT NULL CHECK (channel IN ('Phone', 'SMS', 'Web', 'WhatsApp')),
    agent_id text NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 64),
    campaign_id text NOT NULL CHECK (char_length(campaign_id) <= 64),
    micro_credits bigint NOT NULL,
    entries bigint NOT NULL CHECK (entries > 0),
    PRIMARY KEY (company_id, day, channel, agent_id, campaign_id)
);

CREATE TABLE usage_months (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    channel text NOT NULL CHECK (channel IN ('Phone', 'SMS', 'Web', 'WhatsApp')),
    agent_id text NOT NULL CHECK (char_length(agent_id) BETWEEN 1 AND 64),
    campaign_id text NOT NULL CHECK (char_length(campaign_id) <= 64),
    micro_credits bigint NOT NULL,
    entries bigint NOT NULL CHECK (entries > 0),
    PRIMARY KEY (company_id, month, channel, agent_id, campaign_id)
);

CREATE TABLE tombstones (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    noun text NOT NULL CHECK (noun IN ('agent', 'campaign')),
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    deleted_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, noun, id)
);

-- A plan is valid from its month until the month of the next plan.
CREATE TABLE plans (
    company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    micro_credits_included bigint NOT NULL CHECK (micro_credits_included >= 0),
    micro_credits_budget bigint CHECK (micro_credits_budget > 0),
    PRIMARY KEY (company_id, month)
);
-- +goose StatementEnd

-- +goose Down
DROP TABLE plans;
DROP TABLE tombstones;
DROP TABLE usage_months;
DROP TABLE usage_days;
DROP TABLE usage_entries;
