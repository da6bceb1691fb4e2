-- Puppet runs whose reports arrived: for webhooks, and for programs that process reports.

-- The last number given out of each kind; none is ever used again.
CREATE TABLE puppet_run_counters (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO puppet_run_counters (name, last) VALUES ('event', 0), ('processing', 0);

-- Runs of which a webhook is to tell, in the order in which their reports arrived.
CREATE TABLE puppet_run_events (
    id       BIGINT PRIMARY KEY,
    kind     TEXT NOT NULL, -- puppet_run_changed, puppet_run_unchanged, puppet_run_failed
    at_ms    BIGINT NOT NULL,
    certname TEXT NOT NULL,
    details  TEXT NOT NULL -- a JSON object
);
ALTER TABLE webhooks ADD COLUMN next_puppet_run_event BIGINT NOT NULL DEFAULT 1;

-- Reports that a program has not processed yet.
CREATE TABLE report_processing (
    position  BIGINT PRIMARY KEY,
    program   TEXT NOT NULL, -- its path
    report_id TEXT NOT NULL,
    queued_ms BIGINT NOT NULL
);
