-- What was asked for with code, and what became of it.
CREATE TABLE code_deploys (
    id           BIGINT PRIMARY KEY,
    request_id   TEXT COLLATE "C" NOT NULL UNIQUE, -- of the row, so that its number is found
    environment  TEXT COLLATE "C" NOT NULL,
    action       TEXT COLLATE "C" NOT NULL, -- deploy, remove, rollback, promote, publish
    options      TEXT COLLATE "C" NOT NULL, -- JSON
    owner        TEXT COLLATE "C" NOT NULL, -- login
    reason       TEXT COLLATE "C" NOT NULL, -- free text
    state        TEXT COLLATE "C" NOT NULL, -- new, queued, deploying, syncing, synced, failed
    queued_ms    BIGINT NOT NULL,
    started_ms   BIGINT,
    finished_ms  BIGINT,
    served_by    BIGINT, -- the deployment that did the work, where one served several
    signature    TEXT COLLATE "C",   -- what was made live, or would have been
    before       TEXT COLLATE "C",   -- what was live until then
    outcome      TEXT COLLATE "C"    -- JSON: what changed, or the error
);
CREATE INDEX code_deploys_of ON code_deploys (environment, id);
CREATE INDEX code_deploys_open ON code_deploys (id) WHERE finished_ms IS NULL;

-- Environments that stay with a version.
CREATE TABLE code_pins (
    environment TEXT COLLATE "C" PRIMARY KEY,
    signature   TEXT COLLATE "C" NOT NULL,
    owner       TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    pinned_ms   BIGINT NOT NULL
);
