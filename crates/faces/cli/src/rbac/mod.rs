//! Users, roles, groups of users and tokens, through `/rbac-api`.

pub(crate) mod find;
pub(crate) mod group;
pub(crate) mod role;
pub(crate) mod token;
pub(crate) mod user;
