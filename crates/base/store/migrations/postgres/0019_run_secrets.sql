-- What a task said in `_sensitive`, sealed, for the plan that ran it; gone when the plan has ended well.
ALTER TABLE runs ADD COLUMN sealed BYTEA;
CREATE INDEX runs_sealed ON runs (job, certname) WHERE sealed IS NOT NULL;
