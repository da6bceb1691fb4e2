-- What a Puppet run changed, as its result says; null: it says nothing.
ALTER TABLE runs ADD COLUMN corrective BIGINT;
ALTER TABLE runs ADD COLUMN intentional BIGINT;
