-- Whom to tell about events.

CREATE TABLE webhooks (
    id           TEXT PRIMARY KEY,
    url          TEXT NOT NULL,
    sealed       BLOB NOT NULL, -- the key that signs
    events       TEXT NOT NULL, -- JSON array of types; empty: all
    description  TEXT NOT NULL,
    enabled      BIGINT NOT NULL,
    created_by   TEXT NOT NULL,
    created_ms   BIGINT NOT NULL,
    next_event   BIGINT NOT NULL, -- the first event that is not dealt with
    delivered    BIGINT NOT NULL,
    given_up     BIGINT NOT NULL,
    failing_ms   BIGINT, -- since when; NULL: the last attempt went well
    last_error   TEXT
);
