-- Reports of Puppet runs, as agents send them to this server.
CREATE TABLE run_reports (
    report_id        TEXT COLLATE "C" PRIMARY KEY,
    certname         TEXT COLLATE "C" NOT NULL,
    transaction_uuid TEXT COLLATE "C" NOT NULL,
    received_ms      BIGINT NOT NULL,
    status           TEXT COLLATE "C" NOT NULL, -- changed, unchanged, failed
    job_id           TEXT COLLATE "C", -- the job that started the run
    summary          TEXT NOT NULL, -- a JSON object
    detail           BYTEA NOT NULL -- metrics, logs and resources: JSON, compressed
);
CREATE INDEX run_reports_of_node ON run_reports (certname, received_ms);
CREATE INDEX run_reports_by_time ON run_reports (received_ms);
CREATE INDEX run_reports_by_status ON run_reports (status, received_ms);
CREATE INDEX run_reports_of_job ON run_reports (job_id, received_ms) WHERE job_id IS NOT NULL;

-- Commands that PuppetDB has not taken yet.
CREATE TABLE puppetdb_commands (
    position   BIGINT PRIMARY KEY, -- ascending; never used again
    command    TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL,
    certname   TEXT COLLATE "C" NOT NULL,
    queued_ms  BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL, -- of the payload, as stored
    payload    BYTEA NOT NULL -- JSON, compressed
);
CREATE INDEX puppetdb_commands_of_node ON puppetdb_commands (certname, command);
CREATE INDEX puppetdb_commands_sizes ON puppetdb_commands (position, queued_ms, size_bytes);
