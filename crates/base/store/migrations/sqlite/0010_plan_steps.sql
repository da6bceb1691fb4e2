-- Plan jobs: the plan, what happened in it, and the jobs that are its steps.

-- The last number given out of each kind; none is ever used again.
CREATE TABLE plan_counters (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO plan_counters (name, last) VALUES ('job', 0), ('event', 0);

CREATE TABLE plan_jobs (
    number      BIGINT PRIMARY KEY,
    request_id  TEXT NOT NULL UNIQUE, -- of the request that made it
    plan        TEXT NOT NULL,
    state       TEXT NOT NULL, -- running, success, failure
    environment TEXT NOT NULL,
    options     TEXT NOT NULL, -- without secrets
    userdata    TEXT NOT NULL,
    owner       TEXT NOT NULL, -- login
    result      TEXT,
    created_ms  BIGINT NOT NULL,
    finished_ms BIGINT,
    changed_ms  BIGINT NOT NULL
);
CREATE INDEX plan_jobs_finished ON plan_jobs (finished_ms);

-- Written with the job, in its transaction. `open` is null for a plan job that is over, and
-- refuses the job.
CREATE TABLE plan_steps (
    plan_job BIGINT NOT NULL REFERENCES plan_jobs (number),
    job      BIGINT NOT NULL,
    open     BIGINT NOT NULL,
    PRIMARY KEY (plan_job, job)
);

CREATE TABLE plan_events (
    id       BIGINT PRIMARY KEY,
    plan_job BIGINT NOT NULL REFERENCES plan_jobs (number),
    kind     TEXT NOT NULL,
    at_ms    BIGINT NOT NULL,
    details  TEXT NOT NULL,
    message  TEXT NOT NULL
);
CREATE INDEX plan_events_of_job ON plan_events (plan_job, id);
