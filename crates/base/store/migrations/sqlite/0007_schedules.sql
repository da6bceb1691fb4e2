-- Jobs that are to start by themselves.

CREATE TABLE schedules (
    id           BIGINT PRIMARY KEY,
    request_id   TEXT NOT NULL UNIQUE, -- of the request that made it
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL, -- of the task or plan; empty for a Puppet run
    environment  TEXT NOT NULL,
    owner        TEXT NOT NULL, -- login
    owner_id     TEXT NOT NULL,
    description  TEXT NOT NULL,
    userdata     TEXT NOT NULL,
    input        TEXT NOT NULL, -- without secrets
    sensitive    TEXT NOT NULL, -- names of the secrets
    sealed       BLOB,          -- the secrets
    timetable    TEXT NOT NULL,
    enabled      BIGINT NOT NULL,
    revision     BIGINT NOT NULL, -- counts edits
    created_ms   BIGINT NOT NULL,
    cursor_ms    BIGINT, -- slots up to this one are decided
    next_slot_ms BIGINT,
    next_ms      BIGINT, -- when the next slot starts
    queued_ms    BIGINT, -- a slot that waits for the run before it
    runs         BIGINT NOT NULL,
    last_slot_ms BIGINT, -- the last one that was claimed
    skipped      TEXT    -- the last one that was not
);
CREATE INDEX schedules_due ON schedules (next_ms) WHERE enabled = 1;

-- A slot is claimed before anything is started for it.
CREATE TABLE schedule_slots (
    schedule   BIGINT NOT NULL REFERENCES schedules (id),
    slot_ms    BIGINT NOT NULL,
    claim      TEXT NOT NULL,
    claimed_ms BIGINT NOT NULL,
    ended      BIGINT NOT NULL DEFAULT 0,
    error      TEXT,
    PRIMARY KEY (schedule, slot_ms)
);
CREATE INDEX schedule_slots_open ON schedule_slots (schedule) WHERE ended = 0;

-- Written with the job, in its transaction: no slot has two.
CREATE TABLE schedule_launches (
    schedule BIGINT NOT NULL,
    slot_ms  BIGINT NOT NULL,
    job      BIGINT NOT NULL,
    PRIMARY KEY (schedule, slot_ms)
);
