-- The hash-chained log of decisions and commands. Its head is in the ledger.
ALTER TABLE ledger ADD COLUMN audit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN audit_hash BLOB NOT NULL
    DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000';

CREATE TABLE audit (
    seq         INTEGER PRIMARY KEY, -- from 1, without gaps
    version     BIGINT NOT NULL,     -- of the encoding that is hashed
    at_ms       BIGINT NOT NULL,
    phase       TEXT NOT NULL,       -- intent, result, login, denied, event or checkpoint
    intent      BIGINT,              -- of a result: the entry that announced it
    actor_type  TEXT NOT NULL,
    actor_id    TEXT NOT NULL,
    actor_name  TEXT NOT NULL,
    address     TEXT,
    service     TEXT NOT NULL,
    action      TEXT NOT NULL,
    object_type TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    object_name TEXT NOT NULL,
    route       TEXT NOT NULL,
    decision    TEXT NOT NULL,
    permission  TEXT,
    status      BIGINT,
    times       BIGINT NOT NULL,     -- how often, for refusals that are counted together
    details     TEXT NOT NULL,       -- JSON
    prev        BLOB NOT NULL,       -- the hash of the entry before
    hash        BLOB NOT NULL
);
CREATE INDEX audit_of_actor ON audit (actor_id, seq);
CREATE INDEX audit_of_object ON audit (object_type, object_id, seq);
CREATE INDEX audit_checkpoints ON audit (seq) WHERE phase = 'checkpoint';
