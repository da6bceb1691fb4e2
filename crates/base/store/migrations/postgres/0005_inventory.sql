-- What agents told about themselves: facts and reports.
CREATE TABLE inventory_nodes (
    certname    TEXT COLLATE "C" PRIMARY KEY,
    facts       TEXT COLLATE "C", -- a JSON object; all of the following are NULL without it
    trusted     TEXT COLLATE "C", -- a JSON object
    environment TEXT COLLATE "C",
    facts_ms    BIGINT
);

CREATE TABLE inventory_reports (
    certname         TEXT COLLATE "C" NOT NULL,
    transaction_uuid TEXT COLLATE "C" NOT NULL,
    received_ms      BIGINT NOT NULL,
    report           TEXT COLLATE "C" NOT NULL, -- a JSON object
    PRIMARY KEY (certname, transaction_uuid)
);
CREATE INDEX inventory_reports_newest ON inventory_reports (certname, received_ms);
