-- Resources that nodes export for the catalogs of other nodes. A node without exported resources has no row.
CREATE TABLE exporting_nodes (
    certname    TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    code_id     TEXT, -- the version of the code that exports them
    digest      TEXT -- of the resources; NULL if some of their values are secrets
);

-- The resources of one type of a node, as a JSON list.
CREATE TABLE exported_resources (
    certname      TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resources     TEXT NOT NULL,
    sealed        BYTEA, -- the secrets among their values
    PRIMARY KEY (resource_type, certname)
);
CREATE INDEX exported_resources_of_node ON exported_resources (certname);
