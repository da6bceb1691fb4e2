-- Webhooks tell events of plan jobs too, beginning with those that happen from now on.
ALTER TABLE webhooks ADD COLUMN next_plan_event BIGINT NOT NULL DEFAULT 0;
UPDATE webhooks SET next_plan_event = (SELECT last + 1 FROM plan_counters WHERE name = 'event');
