-- Expands: When autovacuum removes old versions of rows.

-- By default autovacuum waits until a fifth of a table's rows are dead. Each row of these tables is changed a few times
-- and then kept for years, so a fifth would be millions of rows, and each vacuum would take long.

-- +goose Up
ALTER TABLE agent_test_runs SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE campaign_items SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE simulation_chats SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- +goose Down
ALTER TABLE agent_test_runs RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
ALTER TABLE campaign_items RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
ALTER TABLE simulation_chats RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
