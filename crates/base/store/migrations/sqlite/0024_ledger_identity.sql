-- Which database this is, so that an older copy of it is told from another one.
ALTER TABLE ledger ADD COLUMN identity TEXT NOT NULL DEFAULT '';
UPDATE ledger SET identity = lower(hex(randomblob(16)));
