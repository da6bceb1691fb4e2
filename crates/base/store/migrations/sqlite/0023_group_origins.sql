-- The directory or identity provider that an imported group is of, as in user_origins: another one
-- cannot put its users into the group. Empty: of none. NULL: imported before this was kept and not
-- told by its members; the server decides once, at its next start.
ALTER TABLE user_groups ADD COLUMN origin TEXT;
UPDATE user_groups SET origin = (
    SELECT CASE WHEN COUNT(DISTINCT o.origin) = 1 THEN MIN(o.origin) END
    FROM group_members m JOIN user_origins o ON o.user_id = m.user_id
    WHERE m.group_id = user_groups.id);
