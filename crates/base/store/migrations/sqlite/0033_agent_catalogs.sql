-- The last catalogs that were compiled for the agents of this server.
CREATE TABLE agent_catalogs (
    certname    TEXT NOT NULL,
    sequence    BIGINT NOT NULL, -- ascending; never used again
    environment TEXT NOT NULL,
    code_id     TEXT NOT NULL,
    used_ms     BIGINT NOT NULL, -- time at which it was given last, to the day
    given       BIGINT NOT NULL, -- 0 until the agent got it
    contents    BLOB NOT NULL, -- sealed: the files that it names by hash
    body        BLOB, -- sealed: the catalog, and all on which it depends; NULL if there is a newer one
    PRIMARY KEY (certname, sequence)
);
CREATE INDEX agent_catalogs_by_version ON agent_catalogs (code_id);
CREATE INDEX agent_catalogs_by_use ON agent_catalogs (used_ms);

-- The last compilations of each node.
CREATE TABLE catalog_compilations (
    certname TEXT NOT NULL,
    sequence BIGINT NOT NULL, -- that of the catalog
    at_ms    BIGINT NOT NULL,
    summary  TEXT NOT NULL, -- a JSON object
    PRIMARY KEY (certname, sequence)
);
CREATE INDEX catalog_compilations_by_time ON catalog_compilations (at_ms);
