//! Tokens: another for oneself, what one is good for, and the list.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::order::Order;
use crate::paging::{Page, Pagination};
use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp};

/// `POST v1/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// `<number>[smhdy]`, seconds without a letter, `0`: the longest; absent: an hour.
    #[serde(default)]
    pub lifetime: Option<String>,
    /// A name to revoke the token by; unique for each user.
    #[serde(default)]
    pub label: Option<String>,
    /// What the token is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Which program asks.
    #[serde(default)]
    pub client: Option<String>,
}

/// `POST v2/auth/token/authenticate`. Its `Debug` leaves the token out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthenticateToken {
    /// The token.
    pub token: String,
    /// Whether this counts as a use of it.
    #[serde(default, rename = "update_last_activity?")]
    pub update_last_activity: bool,
}

/// Whose a token is and what it is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenFacts {
    /// The token's id.
    pub id: String,
    /// The user's id.
    pub user_id: String,
    /// The name to log in with.
    pub login: String,
    /// Empty when unknown.
    pub email: String,
    /// The name for people.
    pub display_name: String,
    /// All roles, also those by way of groups.
    pub role_ids: Vec<i64>,
    /// Always false.
    pub is_group: bool,
    /// From a directory.
    pub is_remote: bool,
    /// May do everything.
    pub is_superuser: bool,
    /// Always false: a revoked user has no good token.
    pub is_revoked: bool,
    /// When it was made.
    pub creation: PreciseTimestamp,
    /// When it ends.
    pub expiration: Option<PreciseTimestamp>,
    /// Its last use.
    pub last_active: PreciseTimestamp,
    /// The user's last login.
    pub last_login: Option<PreciseTimestamp>,
    /// Its name.
    pub label: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Which program asked.
    pub client: Option<String>,
    /// Seconds without use after which it ends.
    pub timeout: Option<i64>,
}

/// `GET v1/users/:sid/tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The tokens of this page.
    pub items: Vec<TokenItem>,
    /// Which page.
    pub pagination: Pagination,
}

/// A token in a list; never the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenItem {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub creation_date: PreciseTimestamp,
    /// When it ends.
    pub expiration_date: Option<PreciseTimestamp>,
    /// Its last use.
    pub last_active_date: PreciseTimestamp,
    /// Which program asked.
    pub client: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its name.
    pub label: Option<String>,
    /// Seconds without use after which it ends.
    pub session_timeout: Option<i64>,
}

/// By what tokens are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokensOrder {
    /// Oldest first.
    #[default]
    Creation,
    /// The first to end first.
    Expiration,
    /// The least used first.
    LastActive,
    /// By program.
    Client,
}

/// The query of `GET v1/users/:sid/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokensQuery {
    /// `limit` and `offset`.
    pub page: Page,
    /// By what.
    pub order_by: TokensOrder,
    /// In which direction.
    pub order: Order,
}

const ORDERS: &[(&str, TokensOrder)] = &[
    ("creation_date", TokensOrder::Creation),
    ("expiration_date", TokensOrder::Expiration),
    ("last_active_date", TokensOrder::LastActive),
    ("client", TokensOrder::Client),
];

impl TokensOrder {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        let found = ORDERS.iter().find(|(_, order)| *order == self);
        found.map_or("creation_date", |(name, _)| name)
    }
}

impl TokensQuery {
    /// From query parameters.
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

impl fmt::Debug for AuthenticateToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateToken").finish_non_exhaustive()
    }
}
