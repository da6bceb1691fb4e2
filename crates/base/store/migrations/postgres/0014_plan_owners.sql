-- Whose a plan job is: the user, not whoever bears his login later. Those from before belong to the
-- user who bears the login now, or to nobody.
ALTER TABLE plan_jobs ADD COLUMN owner_id TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE plan_jobs SET owner_id =
    COALESCE((SELECT users.id FROM users WHERE users.login = plan_jobs.owner), '');
