-- Which directory or identity provider a remote user is from, and who he is there: his login may
-- one day be another's.
CREATE TABLE user_origins (
    user_id    TEXT PRIMARY KEY REFERENCES users (id),
    origin     TEXT NOT NULL, -- ldap:UUID or oidc:ISSUER
    subject    TEXT NOT NULL, -- empty: the directory has no lasting name for him
    checked_ms BIGINT NOT NULL, -- when it was last asked about him
    gone       BIGINT NOT NULL DEFAULT 0 -- whether it then did not know him any more
);
CREATE INDEX user_origins_checked ON user_origins (checked_ms);
