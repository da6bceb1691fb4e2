-- Node groups and their rules.

CREATE TABLE node_groups (
    id                 TEXT PRIMARY KEY, -- a UUID; 00000000-0000-4000-8000-000000000000 is the root
    parent             TEXT NOT NULL,    -- the root is its own
    name               TEXT NOT NULL,
    description        TEXT,
    environment        TEXT NOT NULL,
    environment_trumps BIGINT NOT NULL,
    rule               TEXT,             -- JSON; null: no nodes
    classes            TEXT NOT NULL,    -- JSON, as the following two
    config_data        TEXT NOT NULL,
    variables          TEXT NOT NULL,
    last_edited_ms     BIGINT NOT NULL,
    serial_number      BIGINT NOT NULL,  -- counts the edits
    UNIQUE (name, environment)
);

CREATE TABLE node_check_ins (
    id               TEXT COLLATE "C" PRIMARY KEY, -- a UUID that grows with time
    certname         TEXT COLLATE "C" NOT NULL,
    at_ms            BIGINT NOT NULL,
    transaction_uuid TEXT,               -- Puppet's, of the catalog and the report
    explanation      TEXT NOT NULL       -- JSON
);
CREATE INDEX node_check_ins_of_node ON node_check_ins (certname, id);
