//! Routes under `/rbac-api`, and task targets: users, groups, roles, passwords, tokens. Handlers
//! parse, call `rbac` and respond; `rbac` decides which rights a change needs.

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod directories;
mod external_directories;
mod group_origin;
pub(crate) mod groups;
pub(crate) mod members;
pub(crate) mod oidc;
pub(crate) mod passwords;
pub(crate) mod permission_queries;
pub(crate) mod refusal;
pub(crate) mod roles;
pub(crate) mod settings;
pub(crate) mod task_targets;
pub(crate) mod tokens;
pub(crate) mod users;

pub use external_directories::ExternalDirectories;
