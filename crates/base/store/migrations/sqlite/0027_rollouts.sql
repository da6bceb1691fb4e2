-- Jobs that take their nodes in batches. NULL: the job has none.
ALTER TABLE runs ADD COLUMN batch BIGINT;
ALTER TABLE jobs ADD COLUMN batches BIGINT;
-- The batch that was started last, and the end of the pause behind it.
ALTER TABLE jobs ADD COLUMN batch BIGINT;
ALTER TABLE jobs ADD COLUMN next_batch_ms BIGINT;
-- How many runs of each batch are in which state, without reading their results.
CREATE INDEX runs_by_batch ON runs (job, batch, state) WHERE batch IS NOT NULL;
-- The questions that plans wait with.
CREATE INDEX plan_journal_questions ON plan_journal (plan_job) WHERE asks > 0 AND state = 'begun';
