-- Every transaction locks rows in one order: agents, campaigns, items. A change of an item locks its campaign, which
-- numbers the changes. A claim of items does not lock the campaign, because claims are not numbered.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE campaigns (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    agent_id text NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    status text NOT NULL CHECK (status IN ('Draft', 'Running', 'Paused', 'Completed', 'Archived')),
    max_attempts int NOT NULL CHECK (max_attempts BETWEEN 1 AND 20),
    retry_delay_minutes int NOT NULL CHECK (retry_delay_minutes BETWEEN 0 AND 43200),
    default_region text CHECK (default_region ~ '^[A-Z]{2}$'),
    own_fields jsonb NOT NULL CHECK (jsonb_typeof(own_fields) = 'array' AND jsonb_array_length(own_fields) <= 100),
    version int NOT NULL CHECK (version >= 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (company_id, id),
    FOREIGN KEY (company_id, agent_id) REFERENCES agents (company_id, id) ON DELETE CASCADE
);

CREATE INDEX campaigns_list_idx ON campaigns (company_id, created_at DESC, id DESC);

CREATE INDEX campaigns_agent_idx ON campaigns (company_id, agent_id, created_at DESC, id DESC);

CREATE TABLE campaign_items (
    company_id text NOT NULL,
    id text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 64),
    campaign_id text NOT NULL,
    phone_number text NOT NULL CHECK (phone_number ~ '^(\+[1-9][0-9]{1,14})?$'),
    data_bag json NOT NULL CHECK (json_typeof(data_bag) = 'object'),
    running_status text NOT NULL CHECK (running_status IN ('Pending', 'Calling', 'Processed', 'ProcessingResult', 'Error')),
    attempt_count int NOT NULL CHECK (attempt_count >= 0),
    is_picked_up boolean NOT NULL,
    is_archived boolean NOT NULL,
    result json CHECK (json_typeof(result) = 'object'),
    error text CHECK (char_length(error) BETWEEN 1 AND 1000),
    due_at timestamptz NOT NULL,
    claim_id text,
    event_count int NOT NULL CHECK (event_count >= 0),
    version int NOT NULL CHECK (version >= 1),
    created_at timestamptz NOT NULL,
    processed_at timestamptz,
    last_call_date timestamptz,
    next_try_date timestamptz,
    PRIMARY KEY (company_id, id),
    CONSTRAINT campaign_items_version_key UNIQUE (company_id, campaign_id, version),
    CONSTRAINT campaign_items_begun_check CHECK (
        running_status = 'Pending' OR attempt_count > 0 AND last_call_date IS NOT NULL
    ),
    CONSTRAINT campaign_items_processed_check CHECK ((running_status = 'Processed') = (processed_at IS NOT NULL)),
    CONSTRAINT campaign_items_outcome_check CHECK (running_status = 'Processed' OR result IS NULL),
    CONSTRAINT campaign_items_failure_check CHECK ((running_status = 'Error') = (error IS NOT NULL)),
    CONSTRAINT campaign_items_next_try_check CHECK (running_status = 'Pending' OR next_try_date IS NULL),
    CONSTRAINT campaign_items_picked_up_check CHECK (NOT is_picked_up OR running_status = 'Calling'),
    CONSTRAINT campaign_items_claim_check CHECK (
        running_status IN ('Pending', 'Calling', 'ProcessingResult') OR claim_id IS NULL
    ),
    CONSTRAINT campaign_items_kept_check CHECK (NOT is_archived OR running_status NOT IN ('Calling', 'ProcessingResult')),
    FOREIGN KEY (company_id, campaign_id) REFERENCES campaigns (company_id, id) ON DELETE CASCADE
);

CREATE INDEX campaign_items_list_idx ON campaign_items (company_id, campaign_id, created_at DESC, id DESC);

CREATE INDEX campaign_items_status_idx ON campaign_items (company_id, campaign_id, running_status, created_at DESC, id DESC);

CREATE INDEX campaign_items_due_idx ON campaign_items (company_id, campaign_id, due_at, id)
WHERE running_status = 'Pending' AND NOT is_archived;

CREATE INDEX campaign_items_claim_idx ON campaign_items (company_id, claim_id) WHERE claim_id IS NOT NULL;

CREATE TABLE campaign_item_events (
    company_id text NOT NULL,
    item_id text NOT NULL,
    number int NOT NULL CHECK (number >= 1),
    type text NOT NULL CHECK (type IN ('LaunchCall', 'ResetCall', 'EndCall', 'PickUp')),
    date timestamptz NOT NULL,
    description text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 2000),
    PRIMARY KEY (company_id, item_id, number),
    FOREIGN KEY (company_id, item_id) REFERENCES campaign_items (company_id, id) ON DELETE CASCADE
);
-- +goose StatementEnd

-- +goose Down
DROP TABLE campaign_item_events;
DROP TABLE campaign_items;
DROP TABLE campaigns;
