-- Nodes that ever had an agent: what is meant for one of them goes nowhere else while it is away.
CREATE TABLE agents (
    certname TEXT COLLATE "C" PRIMARY KEY
);

-- The embedded inventory knows every node that was ever connected.
INSERT INTO agents (certname) SELECT certname FROM inventory_nodes;
