-- Which steps of plans wait for a person, and until when a plan may run.
ALTER TABLE plan_journal ADD COLUMN asks BIGINT NOT NULL DEFAULT 0; -- 1: a person; 2: for a secret
ALTER TABLE plan_runs ADD COLUMN timeout_ms BIGINT; -- how long it may take, from its start or resumption
ALTER TABLE plan_runs ADD COLUMN until_ms BIGINT;
