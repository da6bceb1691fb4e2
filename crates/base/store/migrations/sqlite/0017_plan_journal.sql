-- Plans that this server runs itself: what it takes to run one again from its start, and the journal
-- from which it is answered then.
CREATE TABLE plan_runs (
    plan_job BIGINT PRIMARY KEY REFERENCES plan_jobs (number),
    sealed   BLOB NOT NULL, -- what was asked for, secrets too
    asleep   BIGINT NOT NULL -- 1: every branch waits, and nothing of it is in memory
);
CREATE INDEX plan_jobs_running ON plan_jobs (number) WHERE state = 'running';

CREATE TABLE plan_journal (
    plan_job  BIGINT NOT NULL REFERENCES plan_jobs (number),
    branch    TEXT NOT NULL, -- '' for the plan itself, '2.1' for the first branch of its second
    step      BIGINT NOT NULL,
    kind      TEXT NOT NULL,
    site      TEXT NOT NULL,
    arguments TEXT NOT NULL, -- to be shown: without secrets, cut
    hash      TEXT NOT NULL, -- of kind and whole arguments
    state     TEXT NOT NULL, -- begun, done, failed, dropped
    began     BIGINT NOT NULL, -- its place among all beginnings and deliveries of the plan
    delivered BIGINT, -- the place at which the plan saw the outcome
    job       BIGINT,
    until_ms  BIGINT,
    outcome   TEXT,
    sealed    BLOB, -- an outcome that is secret
    begun_ms  BIGINT NOT NULL,
    ended_ms  BIGINT,
    PRIMARY KEY (plan_job, branch, step)
) WITHOUT ROWID;
CREATE INDEX plan_journal_jobs ON plan_journal (job) WHERE job IS NOT NULL;
