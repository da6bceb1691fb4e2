-- Plan jobs: the plan, what happened in it, and the jobs that are its steps.

-- The last number given out of each kind; none is ever used again.
CREATE TABLE plan_counters (
    name TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO plan_counters (name, last) VALUES ('job', 0), ('event', 0);

CREATE TABLE plan_jobs (
    number      BIGINT PRIMARY KEY,
    request_id  TEXT COLLATE "C" NOT NULL UNIQUE, -- of the request that made it
    plan        TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL, -- running, success, failure
    environment TEXT COLLATE "C" NOT NULL,
    options     TEXT COLLATE "C" NOT NULL, -- without secrets
    userdata    TEXT COLLATE "C" NOT NULL,
    owner       TEXT COLLATE "C" NOT NULL, -- login
    result      TEXT COLLATE "C",
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
    kind     TEXT COLLATE "C" NOT NULL,
    at_ms    BIGINT NOT NULL,
    details  TEXT COLLATE "C" NOT NULL,
    message  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX plan_events_of_job ON plan_events (plan_job, id);
