//! Tokens: issuing another one for oneself, inspecting one, and listing them.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp};

/// Body of `POST v1/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Lifetime of the token as `<number>[smhdy]`, in seconds without a letter; `0`: the longest
    /// permitted; absent: one hour.
    #[serde(default)]
    pub lifetime: Option<String>,
    /// Label by which the token can be revoked; unique among the tokens of a user.
    #[serde(default)]
    pub label: Option<String>,
    /// Purpose of the token, in free text.
    #[serde(default)]
    pub description: Option<String>,
    /// Name of the program that requests the token.
    #[serde(default)]
    pub client: Option<String>,
}

/// Body of `POST v2/auth/token/authenticate`. `Debug` omits the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthenticateToken {
    /// Value of the token.
    pub token: String,
    /// True if the request counts as a use of the token.
    #[serde(default, rename = "update_last_activity?")]
    pub update_last_activity: bool,
}

/// Owner, roles and validity of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenFacts {
    /// Id of the token.
    pub id: String,
    /// UUID of the user who owns the token.
    pub user_id: String,
    /// Login name of the user.
    pub login: String,
    /// E-mail address; empty if it is unknown.
    pub email: String,
    /// Name that lists and user interfaces show.
    pub display_name: String,
    /// Ids of all roles of the user, including those through groups.
    pub role_ids: Vec<i64>,
    /// Always false, since this is a user and not a group.
    pub is_group: bool,
    /// True if the user comes from an external directory (LDAP or OIDC).
    pub is_remote: bool,
    /// True if the user has every permission.
    pub is_superuser: bool,
    /// Always false: the tokens of a revoked user are invalid.
    pub is_revoked: bool,
    /// Time at which the token was issued.
    pub creation: PreciseTimestamp,
    /// Time at which the token expires; null if it does not expire.
    pub expiration: Option<PreciseTimestamp>,
    /// Time at which the token was last used.
    pub last_active: PreciseTimestamp,
    /// Time of the user's last login; null if there was none.
    pub last_login: Option<PreciseTimestamp>,
    /// Label of the token; null if it has none.
    pub label: Option<String>,
    /// Purpose of the token, in free text.
    pub description: Option<String>,
    /// Name of the program that requested the token; null or absent if it gave none.
    pub client: Option<String>,
    /// Time without use after which the token expires, in seconds; null: unlimited.
    pub timeout: Option<i64>,
}

/// Tokens of a user: the reply to `GET v1/users/:sid/tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The tokens of this page.
    pub items: Vec<TokenItem>,
    /// Page that was returned, with the size of the whole list.
    pub pagination: Pagination,
}

/// A token in a list, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenItem {
    /// Id of the token.
    pub id: String,
    /// Time at which the token was issued.
    pub creation_date: PreciseTimestamp,
    /// Time at which the token expires; null if it does not expire.
    pub expiration_date: Option<PreciseTimestamp>,
    /// Time at which the token was last used.
    pub last_active_date: PreciseTimestamp,
    /// Name of the program that requested the token; null or absent if it gave none.
    pub client: Option<String>,
    /// Purpose of the token, in free text.
    pub description: Option<String>,
    /// Label of the token; null if it has none.
    pub label: Option<String>,
    /// Time without use after which the token expires, in seconds; null: unlimited.
    pub session_timeout: Option<i64>,
}

/// Sort key of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokensOrder {
    /// By time of creation, oldest first.
    #[default]
    Creation,
    /// By expiration, the earliest first.
    Expiration,
    /// By last use, the earliest first.
    LastActive,
    /// By name of the program that requested the token.
    Client,
}

/// The query of `GET v1/users/:sid/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokensQuery {
    /// Part of the list to return, from `limit` and `offset`.
    pub page: Page,
    /// Sort key of the list.
    pub order_by: TokensOrder,
    /// Direction of the sort; ascending by default.
    pub order: Order,
}

const ORDERS: &[(&str, TokensOrder)] = &[
    ("creation_date", TokensOrder::Creation),
    ("expiration_date", TokensOrder::Expiration),
    ("last_active_date", TokensOrder::LastActive),
    ("client", TokensOrder::Client),
];

impl TokensOrder {
    /// Name of this sort key in the API.
    pub fn as_str(self) -> &'static str {
        let found = ORDERS.iter().find(|(_, order)| *order == self);
        found.map_or("creation_date", |(name, _)| name)
    }
}

impl TokensQuery {
    /// Reads the query parameters.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let query = Self {
            page: Page::take(&mut given)?,
            order_by: given.one_of("order_by", ORDERS)?.unwrap_or_default(),
            order: given.order()?,
        };
        given.finish()?;
        Ok(query)
    }
}

partial_debug!(AuthenticateToken {});
