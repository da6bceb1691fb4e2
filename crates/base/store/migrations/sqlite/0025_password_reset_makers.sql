-- A reset token is good by the rights of the user who made it. Nobody knows who made those that there are; they
-- would live a day at most.
DELETE FROM password_resets;
ALTER TABLE password_resets ADD COLUMN by_user_id TEXT NOT NULL DEFAULT '';
