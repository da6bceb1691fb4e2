-- Capabilities that nodes produce for applications, as of the last catalog that each node got.
CREATE TABLE produced_capabilities (
    environment     TEXT NOT NULL,
    capability_type TEXT NOT NULL,
    title           TEXT NOT NULL,
    certname        TEXT NOT NULL,
    code_id         TEXT, -- the version of the code that produces them
    attributes      BYTEA NOT NULL, -- sealed: rich data as JSON
    PRIMARY KEY (environment, capability_type, title, certname)
);
CREATE INDEX produced_capabilities_of_node ON produced_capabilities (certname);
