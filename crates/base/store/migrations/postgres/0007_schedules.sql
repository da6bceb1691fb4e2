-- Jobs that are to start by themselves.

CREATE TABLE schedules (
    id           BIGINT PRIMARY KEY,
    request_id   TEXT COLLATE "C" NOT NULL UNIQUE, -- of the request that made it
    kind         TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL, -- of the task or plan; empty for a Puppet run
    environment  TEXT COLLATE "C" NOT NULL,
    owner        TEXT COLLATE "C" NOT NULL, -- login
    owner_id     TEXT COLLATE "C" NOT NULL,
    description  TEXT COLLATE "C" NOT NULL,
    userdata     TEXT COLLATE "C" NOT NULL,
    input        TEXT COLLATE "C" NOT NULL, -- without secrets
    sensitive    TEXT COLLATE "C" NOT NULL, -- names of the secrets
    sealed       BYTEA,         -- the secrets
    timetable    TEXT COLLATE "C" NOT NULL,
    enabled      BIGINT NOT NULL,
    revision     BIGINT NOT NULL, -- counts edits
    created_ms   BIGINT NOT NULL,
    cursor_ms    BIGINT, -- slots up to this one are decided
    next_slot_ms BIGINT,
    next_ms      BIGINT, -- when the next slot starts
    queued_ms    BIGINT, -- a slot that waits for the run before it
    runs         BIGINT NOT NULL,
    last_slot_ms BIGINT, -- the last one that was claimed
    skipped      TEXT COLLATE "C"    -- the last one that was not
);
CREATE INDEX schedules_due ON schedules (next_ms) WHERE enabled = 1;

-- A slot is claimed before anything is started for it.
CREATE TABLE schedule_slots (
    schedule   BIGINT NOT NULL REFERENCES schedules (id),
    slot_ms    BIGINT NOT NULL,
    claim      TEXT COLLATE "C" NOT NULL,
    claimed_ms BIGINT NOT NULL,
    ended      BIGINT NOT NULL DEFAULT 0,
    error      TEXT COLLATE "C",
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
