//! Users, groups, roles and permissions under `/rbac-api`.

mod directories;
mod groups;
mod oidc;
mod passwords;
mod permissions;
mod roles;
mod settings;
mod task_targets;
mod tokens;
mod users;

pub use directories::{DirectoryTest, FoundUser, LdapDelete, LdapId, LdapSettings, LdapTest};
pub use groups::{Group, GroupImport, GroupUpdate};
pub use oidc::{OidcFinish, OidcStart, OidcStarted};
pub use passwords::{
    OwnPassword, PasswordFailure, PasswordReset, ResetToken, ValidateLogin, ValidatePassword,
    Validity,
};
pub use permissions::{ActionType, ObjectType, PermissionSpec, PermittedQuestion};
pub use roles::{NewRole, Role, RoleGroups, RolePermissions, RoleUpdate, RoleUsers};
pub use settings::{Disclaimer, NewDisclaimer};
pub use task_targets::{
    TaskTarget, TaskTargetCommand, TaskTargetCreated, TaskTargetList, TaskTargetRef,
};
pub use tokens::{
    AuthenticateToken, NewToken, TokenFacts, TokenItem, TokenList, TokensOrder, TokensQuery,
};
pub use users::{
    NewUser, UserFilter, UserList, UserName, UserPagination, UserRoles, UserUpdate, UsersOrder,
    UsersQuery,
};
