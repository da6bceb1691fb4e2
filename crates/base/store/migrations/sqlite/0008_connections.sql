-- How to reach nodes that have no agent.
CREATE TABLE connections (
    id     TEXT PRIMARY KEY,
    sealed BLOB NOT NULL -- all of it: host, user, secrets
);

CREATE TABLE connection_nodes (
    certname      TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections (id)
);
CREATE INDEX connection_nodes_of_connection ON connection_nodes (connection_id);
