//! Roles: named sets of permissions, and the users and groups that have them.
//!
//! Invariant: a role changes as a whole, in one transaction; numbers of roles are never used again.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

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

/// One permission of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GrantRow {
    /// Type of the object, for example `tasks`.
    pub object_type: String,
    /// Permitted action, for example `run`.
    pub action: String,
    /// Permitted instance: `*` or its id.
    pub instance: String,
}

const ALL: &str = "SELECT id, display_name, description FROM roles ORDER BY id";
const ONE: &str = "SELECT id, display_name, description FROM roles WHERE id = $1";
const BY_NAME: &str = "SELECT id, display_name, description FROM roles WHERE display_name = $1";
const PERMISSIONS: &str = "SELECT object_type, action, instance, role_id FROM role_permissions \
     WHERE CAST($1 AS BIGINT) IS NULL OR role_id = $1 ORDER BY object_type, action, instance";
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
const ADD_PERMISSION: &str = "INSERT INTO role_permissions (role_id, object_type, action, instance) \
     VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
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

/// A number and the name that belongs to it.
struct NumberedName(i64, String);

/// The number of a role, and one of its permissions.
struct RolePermissionRow(i64, GrantRow);

fn statement(sql: &'static str, values: Vec<SqlValue<'static>>) -> SqlStatement<'static> {
    SqlStatement { sql, values }
}

// === impl Store ===

impl Store {
    /// All roles, by number.
    pub async fn roles(&self) -> Result<Vec<RoleRow>, StoreError> {
        let roles: Vec<RoleRow> = self.query(ALL, Vec::new()).await?;
        self.complete_roles(roles, None).await
    }

    /// The role with this number.
    pub async fn role(&self, id: i64) -> Result<Option<RoleRow>, StoreError> {
        let role: Vec<RoleRow> = self.query(ONE, vec![SqlValue::Int(id)]).await?;
        Ok(self.complete_roles(role, Some(id)).await?.pop())
    }

    /// The number of the role with this name.
    pub async fn role_id_by_name(&self, name: &str) -> Result<Option<i64>, StoreError> {
        self.query_one(BY_NAME, vec![SqlValue::owned_text(name)])
            .await
    }

    /// The number of the next new role; valid until another one is inserted.
    pub async fn next_role_id(&self) -> Result<i64, StoreError> {
        let last: Option<i64> = self
            .query_one(NEXT, vec![SqlValue::owned_text("role")])
            .await?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// Writes a role as a whole, be it new or stored already. Refused if its name is taken, or if a
    /// user or group does not exist.
    pub async fn put_role(&self, role: RoleRow) -> Result<(), StoreError> {
        let id = || SqlValue::Int(role.id);
        let (name, text) = (&role.display_name, &role.description);
        let mut steps = vec![
            statement(TAKE, vec![SqlValue::owned_text("role"), id()]),
            statement(
                PUT,
                vec![id(), SqlValue::owned_text(name), SqlValue::owned_text(text)],
            ),
            statement(CLEAR_PERMISSIONS, vec![id()]),
            statement(CLEAR_USERS, vec![id()]),
            statement(CLEAR_GROUPS, vec![id()]),
        ];
        steps.extend(role.permissions.iter().map(|grant| {
            let parts = [&grant.object_type, &grant.action, &grant.instance];
            let parts = parts.map(|part| SqlValue::owned_text(part));
            statement(ADD_PERMISSION, [id()].into_iter().chain(parts).collect())
        }));
        let with = |sql, other: &String| statement(sql, vec![id(), SqlValue::owned_text(other)]);
        steps.extend(role.user_ids.iter().map(|user| with(ADD_USER, user)));
        steps.extend(role.group_ids.iter().map(|group| with(ADD_GROUP, group)));
        self.execute_all(steps).await.map(|_| ())
    }

    /// Deletes a role. `false`: it does not exist.
    pub async fn delete_role(&self, id: i64) -> Result<bool, StoreError> {
        let steps = [CLEAR_PERMISSIONS, CLEAR_USERS, CLEAR_GROUPS, DELETE];
        let steps = steps.map(|sql| statement(sql, vec![SqlValue::Int(id)]));
        let rows = self.execute_all(steps.to_vec()).await?;
        Ok(rows.last().is_some_and(|deleted| *deleted > 0))
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
        self.query(OF_USER, vec![SqlValue::owned_text(user)]).await
    }

    /// The roles that a user inherits from groups.
    pub async fn inherited_roles(&self, user: &str) -> Result<Vec<i64>, StoreError> {
        self.query(INHERITED, vec![SqlValue::owned_text(user)])
            .await
    }

    /// The roles of a group.
    pub async fn roles_of_group(&self, group: &str) -> Result<Vec<i64>, StoreError> {
        self.query(OF_GROUP, vec![SqlValue::owned_text(group)])
            .await
    }

    async fn set_roles(
        &self,
        clear: &'static str,
        add: &'static str,
        whose: &str,
        roles: &[i64],
    ) -> Result<(), StoreError> {
        let mut steps = vec![statement(clear, vec![SqlValue::owned_text(whose)])];
        let adding =
            |role: &i64| statement(add, vec![SqlValue::Int(*role), SqlValue::owned_text(whose)]);
        steps.extend(roles.iter().map(adding));
        self.execute_all(steps).await.map(|_| ())
    }

    /// Adds permissions, users and groups to the roles; to one role only if `of` names it.
    async fn complete_roles(
        &self,
        mut roles: Vec<RoleRow>,
        of: Option<i64>,
    ) -> Result<Vec<RoleRow>, StoreError> {
        let of = || vec![SqlValue::opt_int(of)];
        let permissions: Vec<RolePermissionRow> = self.query(PERMISSIONS, of()).await?;
        let users: Vec<NumberedName> = self.query(USERS, of()).await?;
        let groups: Vec<NumberedName> = self.query(GROUPS, of()).await?;
        let mut at = std::collections::HashMap::new();
        at.extend(roles.iter().enumerate().map(|(i, role)| (role.id, i)));
        for RolePermissionRow(role, grant) in permissions {
            if let Some(i) = at.get(&role) {
                roles[*i].permissions.push(grant);
            }
        }
        for NumberedName(role, user) in users {
            if let Some(i) = at.get(&role) {
                roles[*i].user_ids.push(user);
            }
        }
        for NumberedName(role, group) in groups {
            if let Some(i) = at.get(&role) {
                roles[*i].group_ids.push(group);
            }
        }
        Ok(roles)
    }
}

// === impl rows ===

impl FromRow for RoleRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.int(0)?,
            display_name: row.text(1)?,
            description: row.text(2)?,
            ..Self::default()
        })
    }
}

impl FromRow for NumberedName {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self(row.int(0)?, row.text(1)?))
    }
}

impl FromRow for RolePermissionRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        let grant = GrantRow {
            object_type: row.text(0)?,
            action: row.text(1)?,
            instance: row.text(2)?,
        };
        Ok(Self(row.int(3)?, grant))
    }
}
