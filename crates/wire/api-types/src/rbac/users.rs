//! Users: creating, changing and listing them.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::Page;
use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp, User};

/// Body of `POST users`. `Debug` omits the password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Login name of the user; unique.
    pub login: String,
    /// E-mail address; may be empty.
    #[serde(default)]
    pub email: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// Ids of the roles that the user has directly.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// Password of the user; absent: a reset token is needed before the first login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub password: Option<String>,
}

/// Body of `PUT users/:sid`: the complete user, in the format of `GET`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserUpdate {
    /// UUID of the user, the same as in the path.
    pub id: String,
    /// Login name of the user; unique.
    pub login: String,
    /// E-mail address; may be empty.
    #[serde(default)]
    pub email: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// Ids of the user's roles; absent: unchanged.
    #[serde(default)]
    pub role_ids: Option<Vec<i64>>,
    /// True to prevent the user from logging in; absent: unchanged.
    #[serde(default)]
    pub is_revoked: Option<bool>,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub inherited_role_ids: Vec<i64>,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub group_ids: Vec<String>,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_group: bool,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_remote: bool,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub is_superuser: bool,
    /// Ignored; accepted so that a reply of `GET` can be sent back unchanged.
    #[serde(default)]
    pub last_login: Option<PreciseTimestamp>,
}

/// Body of `POST command/users/add-roles` and `remove-roles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserRoles {
    /// UUID of the user.
    pub user_id: String,
    /// Ids of the roles to add or remove.
    pub role_ids: Vec<i64>,
}

/// Body of `POST command/users/revoke` and `reinstate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserName {
    /// UUID of the user.
    pub user_id: String,
}

/// Query of `GET v1/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// Only users with these ids; `None`: all users.
    pub ids: Option<Vec<String>>,
}

/// Sort key of users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsersOrder {
    /// By login name.
    #[default]
    Login,
    /// By display name.
    DisplayName,
    /// By e-mail address.
    Email,
    /// By time of the last login.
    LastLogin,
}

/// Query of `GET v2/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsersQuery {
    /// Part of the list to return; `limit` is 500 if absent.
    pub page: Page,
    /// Sort key of the list.
    pub order_by: UsersOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
    /// Only users whose login, display name or e-mail address contains this text, ignoring case;
    /// `None`: all users.
    pub filter: Option<String>,
    /// True if the roles that users have directly are included.
    pub include_roles: bool,
}

/// Reply to `GET v2/users`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserList {
    /// The users of this page.
    pub users: Vec<User>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: UserPagination,
}

/// Paging of the request with defaults filled in, and the size of the whole list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserPagination {
    /// Limit of the request, or 500.
    pub limit: u64,
    /// Offset of the request, or 0.
    pub offset: u64,
    /// Sort key of the request, or `login`.
    pub order_by: String,
    /// Direction of the sort: that of the request, or `asc`.
    pub order: Order,
    /// Filter of the request, or empty.
    pub filter: String,
    /// Number of items in the whole list, without `limit` and `offset`.
    pub total: u64,
}

const ORDERS: &[(&str, UsersOrder)] = &[
    ("login", UsersOrder::Login),
    ("display_name", UsersOrder::DisplayName),
    ("email", UsersOrder::Email),
    ("last_login", UsersOrder::LastLogin),
];

impl UsersOrder {
    /// Name of this sort key in the API.
    pub fn as_str(self) -> &'static str {
        let found = ORDERS.iter().find(|(_, order)| *order == self);
        found.map_or("login", |(name, _)| name)
    }
}

impl UserFilter {
    /// Reads the query parameter `id`: ids separated by commas.
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
    /// Default number of users on a page.
    pub const LIMIT: u64 = 500;

    /// Reads the query parameters.
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

partial_debug!(NewUser { login, role_ids });
