-- Numbers are BIGINT, times milliseconds since 1970 (`_ms`), JSON is text.
-- Text is ordered by bytes (COLLATE "C"), as SQLite does it, whatever the database was made with.

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
    number          BIGINT PRIMARY KEY,
    command         TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    task            TEXT COLLATE "C",
    state           TEXT COLLATE "C" NOT NULL,
    progress        BIGINT NOT NULL, -- how far along `state` is; only grows
    environment     TEXT COLLATE "C" NOT NULL,
    options         TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA,
    owner           TEXT COLLATE "C" NOT NULL,
    description     TEXT COLLATE "C" NOT NULL,
    userdata        TEXT COLLATE "C" NOT NULL,
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
    state    TEXT COLLATE "C" NOT NULL,
    enter_ms BIGINT NOT NULL,
    PRIMARY KEY (job, progress)
);

CREATE TABLE runs (
    job             BIGINT NOT NULL REFERENCES jobs (number),
    certname        TEXT COLLATE "C" NOT NULL,
    transaction_id  TEXT COLLATE "C" NOT NULL UNIQUE,
    state           TEXT COLLATE "C" NOT NULL,
    progress        BIGINT NOT NULL, -- how far along `state` is; only grows
    started_ms      BIGINT,
    finished_ms     BIGINT,
    details         TEXT COLLATE "C",
    result          TEXT COLLATE "C",
    latest_event_id BIGINT NOT NULL,
    PRIMARY KEY (job, certname)
);
CREATE INDEX runs_unfinished ON runs (job, certname) WHERE progress < 3;
-- A job's nodes in any order, and how many are in each state, without reading their results.
CREATE INDEX runs_in_order ON runs (job, state, started_ms, finished_ms, certname);

CREATE TABLE events (
    id       BIGINT PRIMARY KEY,
    job      BIGINT NOT NULL REFERENCES jobs (number),
    kind     TEXT COLLATE "C" NOT NULL,
    at_ms    BIGINT NOT NULL,
    certname TEXT COLLATE "C",
    details  TEXT COLLATE "C" NOT NULL,
    message  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX events_of_job ON events (job, id);

CREATE TABLE users (
    id            TEXT COLLATE "C" PRIMARY KEY,
    login         TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name  TEXT COLLATE "C" NOT NULL,
    email         TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C",
    superuser     BIGINT NOT NULL,
    revoked       BIGINT NOT NULL,
    created_ms    BIGINT NOT NULL,
    last_login_ms BIGINT
);

CREATE TABLE tokens (
    hash       BYTEA PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    label      TEXT COLLATE "C",
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT
);
CREATE INDEX tokens_of_user ON tokens (user_id);
