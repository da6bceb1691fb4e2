-- How to reach nodes that have no agent.
CREATE TABLE connections (
    id     TEXT COLLATE "C" PRIMARY KEY,
    sealed BYTEA NOT NULL -- all of it: host, user, secrets
);

CREATE TABLE connection_nodes (
    certname      TEXT COLLATE "C" PRIMARY KEY,
    connection_id TEXT COLLATE "C" NOT NULL REFERENCES connections (id)
);
CREATE INDEX connection_nodes_of_connection ON connection_nodes (connection_id);
