-- What agents told about themselves: facts and reports.
CREATE TABLE inventory_nodes (
    certname    TEXT PRIMARY KEY,
    facts       TEXT,            -- a JSON object; all of the following are NULL without it
    trusted     TEXT,            -- a JSON object
    environment TEXT,
    facts_ms    BIGINT
) WITHOUT ROWID;

CREATE TABLE inventory_reports (
    certname         TEXT NOT NULL,
    transaction_uuid TEXT NOT NULL,
    received_ms      BIGINT NOT NULL,
    report           TEXT NOT NULL, -- a JSON object
    PRIMARY KEY (certname, transaction_uuid)
);
CREATE INDEX inventory_reports_newest ON inventory_reports (certname, received_ms);
