//! Users: made, changed, listed.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::Page;
use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp, User};

/// `POST users`. Its `Debug` leaves the password out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// The name to log in with; unique.
    pub login: String,
    /// May be empty.
    #[serde(default)]
    pub email: String,
    /// The name for people.
    pub display_name: String,
    /// Roles.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// Absent: a reset token is needed before the first login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub password: Option<String>,
}

/// `PUT users/:sid`: the user as he shall be, with what `GET` shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserUpdate {
    /// The id of the path.
    pub id: String,
    /// The name to log in with; unique.
    pub login: String,
    /// May be empty.
    #[serde(default)]
    pub email: String,
    /// The name for people.
    pub display_name: String,
    /// Roles; absent: as they are.
    #[serde(default)]
    pub role_ids: Option<Vec<i64>>,
    /// May not log in; absent: as it is.
    #[serde(default)]
    pub is_revoked: Option<bool>,
    /// Not read.
    #[serde(default)]
    pub inherited_role_ids: Vec<i64>,
    /// Not read.
    #[serde(default)]
    pub group_ids: Vec<String>,
    /// Not read.
    #[serde(default)]
    pub is_group: bool,
    /// Not read.
    #[serde(default)]
    pub is_remote: bool,
    /// Not read.
    #[serde(default)]
    pub is_superuser: bool,
    /// Not read.
    #[serde(default)]
    pub last_login: Option<PreciseTimestamp>,
}

/// `POST command/users/add-roles` and `remove-roles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserRoles {
    /// The user.
    pub user_id: String,
    /// Roles.
    pub role_ids: Vec<i64>,
}

/// `POST command/users/revoke` and `reinstate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserName {
    /// The user.
    pub user_id: String,
}

/// The query of `GET v1/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// Only these ids.
    pub ids: Option<Vec<String>>,
}

/// By what users are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsersOrder {
    /// By login.
    #[default]
    Login,
    /// By the name for people.
    DisplayName,
    /// By e-mail address.
    Email,
    /// By the last login.
    LastLogin,
}

/// The query of `GET v2/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsersQuery {
    /// `limit` (500 when absent) and `offset`.
    pub page: Page,
    /// By what.
    pub order_by: UsersOrder,
    /// In which direction.
    pub order: Order,
    /// A part of login, name or address; case does not matter.
    pub filter: Option<String>,
    /// Whether roles are listed.
    pub include_roles: bool,
}

/// `GET v2/users`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserList {
    /// The users of this page.
    pub users: Vec<User>,
    /// Which page.
    pub pagination: UserPagination,
}

/// What was asked, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserPagination {
    /// As asked, or 500.
    pub limit: u64,
    /// As asked, or 0.
    pub offset: u64,
    /// As asked, or `login`.
    pub order_by: String,
    /// As asked, or `asc`.
    pub order: Order,
    /// As asked, or empty.
    pub filter: String,
    /// How many there are without `limit` and `offset`.
    pub total: u64,
}

const ORDERS: &[(&str, UsersOrder)] = &[
    ("login", UsersOrder::Login),
    ("display_name", UsersOrder::DisplayName),
    ("email", UsersOrder::Email),
    ("last_login", UsersOrder::LastLogin),
];

impl UsersOrder {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        let found = ORDERS.iter().find(|(_, order)| *order == self);
        found.map_or("login", |(name, _)| name)
    }
}

impl UserFilter {
    /// From query parameters: ids with commas between.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let ids = given.text("id");
        given.finish()?;
        let ids = ids.map(|ids| ids.split(',').map(|id| id.trim().to_owned()).collect());
        Ok(Self { ids })
    }
}

impl UsersQuery {
    /// How many users a page has when nobody says.
    pub const LIMIT: u64 = 500;

    /// From query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let flags = [("true", true), ("false", false)];
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
            filter: given.text("filter"),
            include_roles: given.one_of("include_roles", &flags)?.unwrap_or(true),
        };
        given.finish()?;
        Ok(query)
    }
}

impl fmt::Debug for NewUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewUser")
            .field("login", &self.login)
            .field("role_ids", &self.role_ids)
            .finish_non_exhaustive()
    }
}
