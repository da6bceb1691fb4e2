-- Numbers are BIGINT, times milliseconds since 1970 (`_ms`), JSON is text.

-- The one row from which job numbers and event ids are taken.
CREATE TABLE ledger (
    id      BIGINT PRIMARY KEY CHECK (id = 1),
    job     BIGINT NOT NULL,
    event   BIGINT NOT NULL,
    commits BIGINT NOT NULL,
    epoch   BIGINT NOT NULL
);
INSERT INTO ledger (id, job, event, commits, epoch) VALUES (1, 0, 0, 0, 0);

CREATE TABLE jobs (
    number          INTEGER PRIMARY KEY,
    command         TEXT NOT NULL,
    kind            TEXT NOT NULL,
    task            TEXT,
    state           TEXT NOT NULL,
    progress        BIGINT NOT NULL, -- how far along `state` is; only grows
    environment     TEXT NOT NULL,
    options         TEXT NOT NULL,
    sealed          BLOB,
    owner           TEXT NOT NULL,
    description     TEXT NOT NULL,
    userdata        TEXT NOT NULL,
    node_count      BIGINT NOT NULL,
    created_ms      BIGINT NOT NULL,
    started_ms      BIGINT,
    finished_ms     BIGINT,
    changed_ms      BIGINT NOT NULL,
    latest_event_id BIGINT NOT NULL,
    run_states      TEXT, -- of a job that is over with all its runs: 'finished:9,failed:1'
    pruned          BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX jobs_unfinished ON jobs (number) WHERE progress < 4;
CREATE INDEX jobs_finished ON jobs (finished_ms);
CREATE INDEX jobs_pruned ON jobs (number) WHERE pruned = 1;

CREATE TABLE job_states (
    job      BIGINT NOT NULL REFERENCES jobs (number),
    progress BIGINT NOT NULL,
    state    TEXT NOT NULL,
    enter_ms BIGINT NOT NULL,
    PRIMARY KEY (job, progress)
) WITHOUT ROWID;

CREATE TABLE runs (
    job             BIGINT NOT NULL REFERENCES jobs (number),
    certname        TEXT NOT NULL,
    transaction_id  TEXT NOT NULL UNIQUE,
    state           TEXT NOT NULL,
    progress        BIGINT NOT NULL, -- how far along `state` is; only grows
    started_ms      BIGINT,
    finished_ms     BIGINT,
    details         TEXT,
    result          TEXT,
    latest_event_id BIGINT NOT NULL,
    PRIMARY KEY (job, certname)
);
CREATE INDEX runs_unfinished ON runs (job, certname) WHERE progress < 3;
-- A job's nodes in any order, and how many are in each state, without reading their results.
CREATE INDEX runs_in_order ON runs (job, state, started_ms, finished_ms, certname);

CREATE TABLE events (
    id       INTEGER PRIMARY KEY,
    job      BIGINT NOT NULL REFERENCES jobs (number),
    kind     TEXT NOT NULL,
    at_ms    BIGINT NOT NULL,
    certname TEXT,
    details  TEXT NOT NULL,
    message  TEXT NOT NULL
);
CREATE INDEX events_of_job ON events (job, id);

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    login         TEXT NOT NULL UNIQUE,
    display_name  TEXT NOT NULL,
    email         TEXT NOT NULL,
    password_hash TEXT,
    superuser     BIGINT NOT NULL,
    revoked       BIGINT NOT NULL,
    created_ms    BIGINT NOT NULL,
    last_login_ms BIGINT
);

CREATE TABLE tokens (
    hash       BLOB PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    label      TEXT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT
);
CREATE INDEX tokens_of_user ON tokens (user_id);
