-- What followers are told of each environment: the last switch of it.
CREATE TABLE code_generations (
    environment TEXT PRIMARY KEY,
    generation  BIGINT NOT NULL, -- counts the switches of all environments
    signature   TEXT             -- null: it was taken away
);

-- Who follows, so that they are known after a restart.
CREATE TABLE code_followers (
    name    TEXT PRIMARY KEY, -- certname
    seen_ms BIGINT NOT NULL,  -- when it told that
    report  TEXT NOT NULL     -- JSON: what it has
);
