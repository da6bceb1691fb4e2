-- What followers are told of each environment: the last switch of it.
CREATE TABLE code_generations (
    environment TEXT COLLATE "C" PRIMARY KEY,
    generation  BIGINT NOT NULL,  -- counts the switches of all environments
    signature   TEXT COLLATE "C"  -- null: it was taken away
);

-- Who follows, so that they are known after a restart.
CREATE TABLE code_followers (
    name    TEXT COLLATE "C" PRIMARY KEY, -- certname
    seen_ms BIGINT NOT NULL,              -- when it told that
    report  TEXT COLLATE "C" NOT NULL     -- JSON: what it has
);
