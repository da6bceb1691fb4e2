//! Users, roles, groups of users and tokens, over `/rbac-api`.

pub(crate) mod find;
pub(crate) mod group;
pub(crate) mod role;
pub(crate) mod token;
pub(crate) mod user;
