-- What was asked for with code, and what became of it.
CREATE TABLE code_deploys (
    id           BIGINT PRIMARY KEY,
    request_id   TEXT NOT NULL UNIQUE, -- of the row, so that its number is found
    environment  TEXT NOT NULL,
    action       TEXT NOT NULL, -- deploy, remove, rollback, promote, publish
    options      TEXT NOT NULL, -- JSON
    owner        TEXT NOT NULL, -- login
    reason       TEXT NOT NULL, -- free text
    state        TEXT NOT NULL, -- new, queued, deploying, syncing, synced, failed
    queued_ms    BIGINT NOT NULL,
    started_ms   BIGINT,
    finished_ms  BIGINT,
    served_by    BIGINT, -- the deployment that did the work, where one served several
    signature    TEXT,   -- what was made live, or would have been
    before       TEXT,   -- what was live until then
    outcome      TEXT    -- JSON: what changed, or the error
);
CREATE INDEX code_deploys_of ON code_deploys (environment, id);
CREATE INDEX code_deploys_open ON code_deploys (id) WHERE finished_ms IS NULL;

-- Environments that stay with a version.
CREATE TABLE code_pins (
    environment TEXT PRIMARY KEY,
    signature   TEXT NOT NULL,
    owner       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    pinned_ms   BIGINT NOT NULL
);
