-- The form in which a webhook's receiver gets events; the ones that are there get the events themselves.
ALTER TABLE webhooks ADD COLUMN template TEXT NOT NULL DEFAULT 'json';
-- Messages of webhooks name the plan of a job.
CREATE INDEX plan_steps_of_job ON plan_steps (job);
