-- Nodes with a connected agent: after a restart these are expected back.
CREATE TABLE connected_nodes (
    certname TEXT PRIMARY KEY
) WITHOUT ROWID;
