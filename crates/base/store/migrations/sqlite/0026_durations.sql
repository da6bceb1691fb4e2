-- The time that runs and jobs took by a clock that is never set. NULL: the server was restarted before that was
-- measured; then the times of day must do.
ALTER TABLE runs ADD COLUMN duration_ms BIGINT;
ALTER TABLE jobs ADD COLUMN duration_ms BIGINT;
-- Lists by duration read the index alone.
DROP INDEX runs_by_state;
CREATE INDEX runs_by_state ON runs (job, state, certname, started_ms, finished_ms, duration_ms);
