//! User groups of external directories, and their members as of each user's last login.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A user group of an external directory.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GroupRow {
        /// UUID of the group.
        pub id: String,
        /// Name of the group in the directory; unique and case-sensitive.
        pub login: String,
        /// Name shown to users.
        pub display_name: String,
        /// The directory or identity provider of the group, in the form of
        /// [`UserOrigin`](crate::UserOrigin); only its users can be members. Empty: no directory,
        /// so the group has no members.
        pub origin: String = "COALESCE(origin, '')",
    } read write select groups from "user_groups"
}

const INSERT: &str = "INSERT INTO user_groups (id, login, display_name, origin) \
     VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const RENAME: &str = "UPDATE user_groups SET display_name = $2 WHERE id = $1";
const ALL: &str = groups!("ORDER BY login");
const ONE: &str = groups!("WHERE id = $1");
const BIND: &str = "UPDATE user_groups SET origin = $2 WHERE id = $1";
const BIND_UNDECIDED: &str = "UPDATE user_groups SET origin = $1 WHERE origin IS NULL";
const MEMBERS: &str = "SELECT user_id FROM group_members WHERE group_id = $1 ORDER BY user_id";
const OF_USER: &str = "SELECT group_id FROM group_members WHERE user_id = $1 ORDER BY group_id";
const MEMBERSHIPS: &str = "SELECT user_id, group_id FROM group_members ORDER BY user_id, group_id";
const LEAVE_ALL: &str = "DELETE FROM group_members WHERE user_id = $1";
/// A group that is not imported, or belongs to another directory, is left out.
const JOIN: &str = "INSERT INTO group_members (group_id, user_id) \
     SELECT id, $2 FROM user_groups WHERE login = $1 AND origin = $3 AND origin <> '' \
     ON CONFLICT DO NOTHING";
const DELETE_ROLES: &str = "DELETE FROM role_groups WHERE group_id = $1";
const DELETE_MEMBERS: &str = "DELETE FROM group_members WHERE group_id = $1";
const DELETE: &str = "DELETE FROM user_groups WHERE id = $1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    RENAME,
    ALL,
    ONE,
    BIND,
    BIND_UNDECIDED,
    MEMBERS,
    OF_USER,
    MEMBERSHIPS,
    LEAVE_ALL,
    JOIN,
    DELETE_ROLES,
    DELETE_MEMBERS,
    DELETE,
];

// === impl Store ===

impl Store {
    /// Writes a group. `false`: its name or id is taken and nothing was written.
    pub async fn insert_group(&self, group: GroupRow) -> Result<bool, StoreError> {
        Ok(self.execute(INSERT, values![group]).await? > 0)
    }

    /// Sets the display name. `false`: the group does not exist.
    pub async fn rename_group(&self, id: &str, display_name: &str) -> Result<bool, StoreError> {
        Ok(self.execute(RENAME, values![id, display_name]).await? > 0)
    }

    /// Binds a group to another directory and removes its members, which came from the previous
    /// directory. `false`: the group does not exist.
    pub async fn bind_group(&self, id: &str, origin: &str) -> Result<bool, StoreError> {
        let leave = SqlStatement::new(DELETE_MEMBERS, values![id]);
        let bind = SqlStatement::new(BIND, values![id, origin]);
        self.execute_to_last(vec![leave, bind]).await
    }

    /// Binds the groups that were imported before groups had a directory, and whose members do not
    /// identify it. Does nothing when it is called again. Returns the number of groups.
    pub async fn bind_undecided_groups(&self, origin: &str) -> Result<u64, StoreError> {
        self.execute(BIND_UNDECIDED, values![origin]).await
    }

    /// All groups, by the name in the directory.
    pub async fn groups(&self) -> Result<Vec<GroupRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// The group with this id.
    pub async fn group(&self, id: &str) -> Result<Option<GroupRow>, StoreError> {
        self.query_one(ONE, values![id]).await
    }

    /// Ids of the users in a group.
    pub async fn group_members(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.query(MEMBERS, values![id]).await
    }

    /// Ids of the groups of a user.
    pub async fn groups_of_user(&self, user: &str) -> Result<Vec<String>, StoreError> {
        self.query(OF_USER, values![user]).await
    }

    /// Every pair of a user's id and the id of one of the user's groups.
    pub async fn memberships(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.query(MEMBERSHIPS, Vec::new()).await
    }

    /// Sets the groups of the directory `origin` that a user is in, by their names in the
    /// directory; the user leaves all others.
    pub async fn set_groups_of_user(
        &self,
        user: &str,
        origin: &str,
        groups: &[String],
    ) -> Result<(), StoreError> {
        let (sql, values) = (LEAVE_ALL, values![user]);
        let mut steps = vec![SqlStatement::new(sql, values)];
        steps.extend(
            groups
                .iter()
                .map(|group| SqlStatement::new(JOIN, values![group, user, origin])),
        );
        self.execute_all(steps).await.map(drop)
    }

    /// Deletes a group with its roles and members. `false`: it does not exist.
    pub async fn delete_group(&self, id: &str) -> Result<bool, StoreError> {
        let steps =
            [DELETE_ROLES, DELETE_MEMBERS, DELETE].map(|sql| SqlStatement::new(sql, values![id]));
        self.execute_to_last(steps).await
    }
}
