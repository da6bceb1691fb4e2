-- Which database this is, so that an older copy of it is told from another one.
ALTER TABLE ledger ADD COLUMN identity TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE ledger SET identity = md5(random()::text || clock_timestamp()::text || pg_backend_pid()::text);
