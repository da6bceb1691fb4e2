//! Roles: named sets of permissions, and the users and groups that have them.
//!
//! Invariant: a role changes as a whole, in one transaction; numbers of roles are never used again.

use std::collections::HashMap;

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, ColumnReader, FromRow, values};

/// A role with its permissions, users and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleRow {
    /// Number of the role.
    pub id: i64,
    /// Name of the role; unique and case-sensitive.
    pub display_name: String,
    /// Description; may be empty.
    pub description: String,
    /// Permissions of the role, sorted.
    pub permissions: Vec<GrantRow>,
    /// Ids of the users with this role, sorted.
    pub user_ids: Vec<String>,
    /// Ids of the groups whose members have this role, sorted.
    pub group_ids: Vec<String>,
}

row! {
    /// One permission of a role.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct GrantRow {
        /// Type of the object, for example `tasks`.
        pub object_type: String,
        /// Permitted action, for example `run`.
        pub action: String,
        /// Permitted instance: `*` or its id.
        pub instance: String,
    } read write columns grant_columns
}

macro_rules! roles {
    ($rest:literal) => {
        concat!("SELECT id, display_name, description FROM roles ", $rest)
    };
}

const ALL: &str = roles!("ORDER BY id");
const ONE: &str = roles!("WHERE id = $1");
const BY_NAME: &str = "SELECT id FROM roles WHERE display_name = $1";
const PERMISSIONS: &str = concat!(
    "SELECT role_id, ",
    grant_columns!(),
    " FROM role_permissions WHERE CAST($1 AS BIGINT) IS NULL OR role_id = $1 \
     ORDER BY object_type, action, instance"
);
const USERS: &str = "SELECT role_id, user_id FROM role_users \
     WHERE CAST($1 AS BIGINT) IS NULL OR role_id = $1 ORDER BY user_id";
const GROUPS: &str = "SELECT role_id, group_id FROM role_groups \
     WHERE CAST($1 AS BIGINT) IS NULL OR role_id = $1 ORDER BY group_id";
pub(crate) const NEXT: &str = "SELECT last FROM access_counters WHERE name = $1";
pub(crate) const TAKE: &str = "UPDATE access_counters SET last = $2 WHERE name = $1 AND last < $2";
const PUT: &str = "INSERT INTO roles (id, display_name, description) VALUES ($1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET display_name = EXCLUDED.display_name, \
     description = EXCLUDED.description";
const CLEAR_PERMISSIONS: &str = "DELETE FROM role_permissions WHERE role_id = $1";
const CLEAR_USERS: &str = "DELETE FROM role_users WHERE role_id = $1";
const CLEAR_GROUPS: &str = "DELETE FROM role_groups WHERE role_id = $1";
const ADD_PERMISSION: &str = concat!(
    "INSERT INTO role_permissions (role_id, ",
    grant_columns!(),
    ") VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
);
const ADD_USER: &str =
    "INSERT INTO role_users (role_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const ADD_GROUP: &str =
    "INSERT INTO role_groups (role_id, group_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const CLEAR_ROLES_OF_USER: &str = "DELETE FROM role_users WHERE user_id = $1";
const CLEAR_ROLES_OF_GROUP: &str = "DELETE FROM role_groups WHERE group_id = $1";
const DELETE: &str = "DELETE FROM roles WHERE id = $1";
const OF_USER: &str = "SELECT role_id FROM role_users WHERE user_id = $1 ORDER BY role_id";
const INHERITED: &str = "SELECT DISTINCT role_groups.role_id FROM role_groups \
     JOIN group_members ON group_members.group_id = role_groups.group_id \
     WHERE group_members.user_id = $1 ORDER BY role_groups.role_id";
const OF_GROUP: &str = "SELECT role_id FROM role_groups WHERE group_id = $1 ORDER BY role_id";

pub(crate) const STATEMENTS: &[&str] = &[
    ALL,
    ONE,
    BY_NAME,
    PERMISSIONS,
    USERS,
    GROUPS,
    NEXT,
    TAKE,
    PUT,
    CLEAR_PERMISSIONS,
    CLEAR_USERS,
    CLEAR_GROUPS,
    ADD_PERMISSION,
    ADD_USER,
    ADD_GROUP,
    CLEAR_ROLES_OF_USER,
    CLEAR_ROLES_OF_GROUP,
    DELETE,
    OF_USER,
    INHERITED,
    OF_GROUP,
];

// === impl Store ===

impl Store {
    /// All roles, by number.
    pub async fn roles(&self) -> Result<Vec<RoleRow>, StoreError> {
        let roles: Vec<RoleRow> = self.query(ALL, Vec::new()).await?;
        self.complete_roles(roles, None).await
    }

    /// The role with this number.
    pub async fn role(&self, id: i64) -> Result<Option<RoleRow>, StoreError> {
        let role: Vec<RoleRow> = self.query(ONE, values![id]).await?;
        Ok(self.complete_roles(role, Some(id)).await?.pop())
    }

    /// The number of the role with this name.
    pub async fn role_id_by_name(&self, name: &str) -> Result<Option<i64>, StoreError> {
        self.query_one(BY_NAME, values![name]).await
    }

    /// The number of the next new role; valid until another one is inserted.
    pub async fn next_role_id(&self) -> Result<i64, StoreError> {
        let last: Option<i64> = self.query_one(NEXT, values!["role"]).await?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// Writes a role as a whole, be it new or stored already. Refused if its name is taken, or if a
    /// user or group does not exist.
    pub async fn put_role(&self, role: RoleRow) -> Result<(), StoreError> {
        let id = role.id;
        let mut steps = vec![
            SqlStatement::new(TAKE, values!["role", id]),
            SqlStatement::new(PUT, values![id, role.display_name, role.description]),
        ];
        let clear = [CLEAR_PERMISSIONS, CLEAR_USERS, CLEAR_GROUPS];
        steps.extend(clear.map(|sql| SqlStatement::new(sql, values![id])));
        let grants = role.permissions.iter();
        steps.extend(grants.map(|grant| SqlStatement::new(ADD_PERMISSION, values![id, grant])));
        let users = role.user_ids.iter();
        steps.extend(users.map(|user| SqlStatement::new(ADD_USER, values![id, user])));
        let groups = role.group_ids.iter();
        steps.extend(groups.map(|group| SqlStatement::new(ADD_GROUP, values![id, group])));
        self.execute_all(steps).await.map(drop)
    }

    /// Deletes a role. `false`: it does not exist.
    pub async fn delete_role(&self, id: i64) -> Result<bool, StoreError> {
        let steps = [CLEAR_PERMISSIONS, CLEAR_USERS, CLEAR_GROUPS, DELETE];
        let steps = steps.map(|sql| SqlStatement::new(sql, values![id]));
        self.execute_to_last(steps).await
    }

    /// Sets the roles that are assigned to a user directly; all others are removed.
    pub async fn set_roles_of_user(&self, user: &str, roles: &[i64]) -> Result<(), StoreError> {
        self.set_roles(CLEAR_ROLES_OF_USER, ADD_USER, user, roles)
            .await
    }

    /// Sets the roles of a group; all others are removed.
    pub async fn set_roles_of_group(&self, group: &str, roles: &[i64]) -> Result<(), StoreError> {
        self.set_roles(CLEAR_ROLES_OF_GROUP, ADD_GROUP, group, roles)
            .await
    }

    /// The roles that are assigned to a user directly.
    pub async fn roles_of_user(&self, user: &str) -> Result<Vec<i64>, StoreError> {
        self.query(OF_USER, values![user]).await
    }

    /// The roles that a user inherits from groups.
    pub async fn inherited_roles(&self, user: &str) -> Result<Vec<i64>, StoreError> {
        self.query(INHERITED, values![user]).await
    }

    /// The roles of a group.
    pub async fn roles_of_group(&self, group: &str) -> Result<Vec<i64>, StoreError> {
        self.query(OF_GROUP, values![group]).await
    }

    async fn set_roles(
        &self,
        clear: &'static str,
        add: &'static str,
        whose: &str,
        roles: &[i64],
    ) -> Result<(), StoreError> {
        let mut steps = vec![SqlStatement::new(clear, values![whose])];
        steps.extend(
            roles
                .iter()
                .map(|role| SqlStatement::new(add, values![role, whose])),
        );
        self.execute_all(steps).await.map(drop)
    }

    /// Adds permissions, users and groups to the roles; to one role only if `of` names it.
    async fn complete_roles(
        &self,
        mut roles: Vec<RoleRow>,
        of: Option<i64>,
    ) -> Result<Vec<RoleRow>, StoreError> {
        let permissions: Vec<(i64, GrantRow)> = self.query(PERMISSIONS, values![of]).await?;
        let users: Vec<(i64, String)> = self.query(USERS, values![of]).await?;
        let groups: Vec<(i64, String)> = self.query(GROUPS, values![of]).await?;
        let mut by_id = HashMap::new();
        by_id.extend(roles.iter_mut().map(|role| (role.id, role)));
        for (role, grant) in permissions {
            if let Some(role) = by_id.get_mut(&role) {
                role.permissions.push(grant);
            }
        }
        for (role, user) in users {
            if let Some(role) = by_id.get_mut(&role) {
                role.user_ids.push(user);
            }
        }
        for (role, group) in groups {
            if let Some(role) = by_id.get_mut(&role) {
                role.group_ids.push(group);
            }
        }
        Ok(roles)
    }
}

impl FromRow for RoleRow {
    const COUNT: usize = 3;

    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        Ok(Self {
            id: FromRow::read(columns)?,
            display_name: FromRow::read(columns)?,
            description: FromRow::read(columns)?,
            ..Self::default()
        })
    }
}
