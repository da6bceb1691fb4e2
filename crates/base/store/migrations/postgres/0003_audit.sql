-- The hash-chained log of decisions and commands. Its head is in the ledger.
ALTER TABLE ledger ADD COLUMN audit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN audit_hash BYTEA NOT NULL
    DEFAULT decode(repeat('00', 32), 'hex');

CREATE TABLE audit (
    seq         BIGINT PRIMARY KEY,  -- from 1, without gaps
    version     BIGINT NOT NULL,     -- of the encoding that is hashed
    at_ms       BIGINT NOT NULL,
    phase       TEXT COLLATE "C" NOT NULL,       -- intent, result, login, denied, event or checkpoint
    intent      BIGINT,              -- of a result: the entry that announced it
    actor_type  TEXT COLLATE "C" NOT NULL,
    actor_id    TEXT COLLATE "C" NOT NULL,
    actor_name  TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C",
    service     TEXT COLLATE "C" NOT NULL,
    action      TEXT COLLATE "C" NOT NULL,
    object_type TEXT COLLATE "C" NOT NULL,
    object_id   TEXT COLLATE "C" NOT NULL,
    object_name TEXT COLLATE "C" NOT NULL,
    route       TEXT COLLATE "C" NOT NULL,
    decision    TEXT COLLATE "C" NOT NULL,
    permission  TEXT COLLATE "C",
    status      BIGINT,
    times       BIGINT NOT NULL,     -- how often, for refusals that are counted together
    details     TEXT COLLATE "C" NOT NULL,       -- JSON
    prev        BYTEA NOT NULL,       -- the hash of the entry before
    hash        BYTEA NOT NULL
);
CREATE INDEX audit_of_actor ON audit (actor_id, seq);
CREATE INDEX audit_of_object ON audit (object_type, object_id, seq);
CREATE INDEX audit_checkpoints ON audit (seq) WHERE phase = 'checkpoint';
