//! Routes under `/rbac-api`: users, groups, roles, permissions, passwords and tokens. If a policy
//! needs a permission on any instance, the handler checks the instance that the request concerns.

use crate::defaults::LOGIN_BODY_BYTES;
use crate::rbac::{
    AuthenticateToken, Disclaimer, Group, GroupImport, GroupUpdate, NewDisclaimer, NewRole,
    NewToken, NewUser, OwnPassword, PasswordReset, PermittedQuestion, ResetToken, Role, RoleGroups,
    RolePermissions, RoleUpdate, RoleUsers, TaskTarget, TaskTargetCommand, TaskTargetCreated,
    TaskTargetList, TokenFacts, TokenList, UserList, UserName, UserRoles, UserUpdate,
    ValidateLogin, ValidatePassword, Validity,
};
use crate::route::Method::{Delete, Get, Post, Put};
use crate::route::{Policy, Route};
use crate::routes::permissions::{VIEW, may};
use crate::{LoginRequest, RevokeTokens, TokenReply, User};

/// See users, groups and roles.
const LOOK: Policy = may("console_page", "view");
const SELF: Policy = Policy::Authenticated;
const MEMBERS: Policy = may("user_roles", "edit_members");
const EDIT_ROLE: Policy = may("user_roles", "edit");
const DISABLE: Policy = may("users", "disable");

super::group! {
    AUTH_TOKEN = Route::new(Post, "/rbac-api/v1/auth/token", "auth_token", Policy::Public,
        "Log in").request::<LoginRequest>().reply::<TokenReply>(200)
        .max_body_bytes(LOGIN_BODY_BYTES).logs_in();
    TOKEN_AUTHENTICATE = Route::new(Post, "/rbac-api/v2/auth/token/authenticate",
        "token_authenticate", SELF, "Whose a token is")
        .request::<AuthenticateToken>().reply::<TokenFacts>(200).asks_only();
    TOKEN_CREATE = Route::new(Post, "/rbac-api/v1/tokens", "token_create", SELF,
        "Another token for oneself").request::<NewToken>().reply::<TokenReply>(200);
    TOKENS_REVOKE = Route::new(Delete, "/rbac-api/v2/tokens", "tokens_revoke",
        SELF, "Revoke tokens").request::<RevokeTokens>().nothing(204)
        .query(&["revoke_tokens", "revoke_tokens_by_labels", "revoke_tokens_by_usernames",
            "revoke_tokens_by_ids"]);
    TOKEN_REVOKE = Route::new(Delete, "/rbac-api/v2/tokens/{token}", "token_revoke", SELF,
        "Revoke one token").nothing(204);
    USERS = Route::new(Get, "/rbac-api/v1/users", "users", LOOK, "The users")
        .reply::<Vec<User>>(200).query(&["id"]);
    USERS_V2 = Route::new(Get, "/rbac-api/v2/users", "users_v2", LOOK, "The users, page by page")
        .reply::<UserList>(200)
        .query(&["limit", "offset", "order_by", "order", "filter", "include_roles"]);
    USER_CREATE = Route::new(Post, "/rbac-api/v1/users", "user_create", may("users", "create"),
        "Make a user").request::<NewUser>().reply::<User>(201);
    USER_CURRENT = Route::new(Get, "/rbac-api/v1/users/current", "user_current",
        SELF, "Who the token belongs to").reply::<User>(200);
    USER_PASSWORD = Route::new(Put, "/rbac-api/v1/users/current/password", "user_password", SELF,
        "Set one's own password").request::<OwnPassword>().nothing(204)
        .max_body_bytes(LOGIN_BODY_BYTES);
    USER = Route::new(Get, "/rbac-api/v1/users/{user}", "user", SELF,
        "One user; others than oneself with console_page:view").reply::<User>(200);
    USER_UPDATE = Route::new(Put, "/rbac-api/v1/users/{user}", "user_update", SELF,
        "Change a user; each part needs its own permission")
        .request::<UserUpdate>().reply::<User>(200);
    USER_DELETE = Route::new(Delete, "/rbac-api/v1/users/{user}", "user_delete", DISABLE,
        "Delete a user").nothing(204);
    USER_TOKENS = Route::new(Get, "/rbac-api/v1/users/{user}/tokens", "user_tokens", SELF,
        "The tokens of a user; of others than oneself with users:disable")
        .reply::<TokenList>(200).query(&["limit", "offset", "order_by", "order"]);
    USER_RESET = Route::new(Post, "/rbac-api/v1/users/{user}/password/reset", "user_reset",
        may("users", "reset_password"), "A token with which the user sets a password")
        .reply::<ResetToken>(200);
    AUTH_RESET = Route::new(Post, "/rbac-api/v1/auth/reset", "auth_reset", Policy::Public,
        "Set a password by a reset token").request::<PasswordReset>().nothing(200)
        .max_body_bytes(LOGIN_BODY_BYTES);
    VALIDATE_PASSWORD = Route::new(Post, "/rbac-api/v1/command/validate-password",
        "validate_password", SELF, "Whether a password may be set")
        .request::<ValidatePassword>().reply::<Validity>(200).max_body_bytes(LOGIN_BODY_BYTES).asks_only();
    VALIDATE_LOGIN = Route::new(Post, "/rbac-api/v1/command/validate-login",
        "validate_login", may("users", "create"), "Whether a login may be given")
        .request::<ValidateLogin>().reply::<Validity>(200).max_body_bytes(LOGIN_BODY_BYTES).asks_only();
    USER_ADD_ROLES = Route::new(Post, "/rbac-api/v1/command/users/add-roles", "user_add_roles",
        MEMBERS, "Give a user roles").request::<UserRoles>().nothing(204);
    USER_REMOVE_ROLES = Route::new(Post, "/rbac-api/v1/command/users/remove-roles",
        "user_remove_roles", MEMBERS, "Take roles from a user")
        .request::<UserRoles>().nothing(204);
    USER_REVOKE = Route::new(Post, "/rbac-api/v1/command/users/revoke", "user_revoke", DISABLE,
        "Revoke a user and all tokens of that user").request::<UserName>().nothing(204);
    USER_REINSTATE = Route::new(Post, "/rbac-api/v1/command/users/reinstate", "user_reinstate",
        DISABLE, "Let a user who was revoked or locked log in again")
        .request::<UserName>().nothing(204);
    USER_GROUPS = Route::new(Get, "/rbac-api/v1/groups", "user_groups", LOOK, "The groups of users")
        .reply::<Vec<Group>>(200);
    GROUP_CREATE = Route::new(Post, "/rbac-api/v1/groups", "user_group_create",
        may("user_groups", "import"), "Import a group of the directory")
        .request::<GroupImport>().reply::<Group>(201);
    GROUP_CREATE_V2 = Route::new(Post, "/rbac-api/v2/groups", "user_group_create_v2",
        may("user_groups", "import"), "Import a group of the directory")
        .request::<GroupImport>().reply::<Group>(201);
    GROUP_COMMAND = Route::new(Post, "/rbac-api/v1/command/groups/create",
        "user_group_command_create", may("user_groups", "import"),
        "Import a group of the directory").request::<GroupImport>().reply::<Group>(201);
    USER_GROUP = Route::new(Get, "/rbac-api/v1/groups/{group}", "user_group", LOOK, "One group")
        .reply::<Group>(200);
    USER_GROUP_UPDATE = Route::new(Put, "/rbac-api/v1/groups/{group}", "user_group_update",
        SELF, "Change a group; each part needs its own permission")
        .request::<GroupUpdate>().reply::<Group>(200);
    USER_GROUP_DELETE = Route::new(Delete, "/rbac-api/v1/groups/{group}", "user_group_delete",
        may("user_groups", "delete"), "Forget a group").nothing(204);
    ROLES = Route::new(Get, "/rbac-api/v1/roles", "roles", LOOK, "The roles")
        .reply::<Vec<Role>>(200);
    ROLE_CREATE = Route::new(Post, "/rbac-api/v1/roles", "role_create",
        may("user_roles", "create"), "Make a role").request::<NewRole>().reply::<Role>(201);
    ROLE = Route::new(Get, "/rbac-api/v1/roles/{role}", "role", LOOK, "One role")
        .reply::<Role>(200);
    ROLE_UPDATE = Route::new(Put, "/rbac-api/v1/roles/{role}", "role_update", SELF,
        "Change a role; each part needs its own permission")
        .request::<RoleUpdate>().reply::<Role>(200);
    ROLE_DELETE = Route::new(Delete, "/rbac-api/v1/roles/{role}", "role_delete", EDIT_ROLE,
        "Delete a role").nothing(204);
    ROLE_ADD_USERS = Route::new(Post, "/rbac-api/v1/command/roles/add-users", "role_add_users",
        MEMBERS, "Give users a role").request::<RoleUsers>().nothing(204);
    ROLE_REMOVE_USERS = Route::new(Post, "/rbac-api/v1/command/roles/remove-users",
        "role_remove_users", MEMBERS, "Take a role from users")
        .request::<RoleUsers>().nothing(204);
    ROLE_ADD_GROUPS = Route::new(Post, "/rbac-api/v1/command/roles/add-groups",
        "role_add_groups", MEMBERS, "Give groups a role").request::<RoleGroups>().nothing(204);
    ROLE_ADD_USER_GROUPS = Route::new(Post, "/rbac-api/v1/command/roles/add-user-groups",
        "role_add_user_groups", MEMBERS, "The same, by its earlier name")
        .request::<RoleGroups>().nothing(204);
    ROLE_REMOVE_GROUPS = Route::new(Post, "/rbac-api/v1/command/roles/remove-groups",
        "role_remove_groups", MEMBERS, "Take a role from groups")
        .request::<RoleGroups>().nothing(204);
    ROLE_REMOVE_USER_GROUPS = Route::new(Post, "/rbac-api/v1/command/roles/remove-user-groups",
        "role_remove_user_groups", MEMBERS, "The same, by its earlier name")
        .request::<RoleGroups>().nothing(204);
    ROLE_ADD_PERMISSIONS = Route::new(Post, "/rbac-api/v1/command/roles/add-permissions",
        "role_add_permissions", EDIT_ROLE, "Let a role permit more")
        .request::<RolePermissions>().nothing(204);
    ROLE_REMOVE_PERMISSIONS = Route::new(Post, "/rbac-api/v1/command/roles/remove-permissions",
        "role_remove_permissions", EDIT_ROLE, "Let a role permit less")
        .request::<RolePermissions>().nothing(204);
    TYPES = Route::new(Get, "/rbac-api/v1/types", "permission_types", SELF,
        "Every permission that there is").reply::<Vec<crate::rbac::ObjectType>>(200);
    PERMITTED = Route::new(Post, "/rbac-api/v1/permitted", "permitted", SELF,
        "Whether a user or group has permissions; others than oneself with console_page:view")
        .request::<PermittedQuestion>().reply::<Vec<bool>>(200).asks_only();
    PERMITTED_ON = Route::new(Get, "/rbac-api/v1/permitted/{object_type}/{action}",
        "permitted_on", SELF, "On what one has a permission").reply::<Vec<String>>(200);
    PERMITTED_ON_OF = Route::new(Get, "/rbac-api/v1/permitted/{object_type}/{action}/{user}",
        "permitted_on_of", SELF,
        "On what a user has a permission; others than oneself with console_page:view")
        .reply::<Vec<String>>(200);
    DISCLAIMER = Route::new(Get, "/rbac-api/v1/config/disclaimer", "disclaimer", Policy::Public,
        "The text of the login page").reply::<Disclaimer>(200);
    SET_DISCLAIMER = Route::new(Post, "/rbac-api/v1/command/config/set-disclaimer",
        "set_disclaimer", may("configuration", "edit"), "Set it")
        .request::<NewDisclaimer>().nothing(204);
    REMOVE_DISCLAIMER = Route::new(Post, "/rbac-api/v1/command/config/remove-disclaimer",
        "remove_disclaimer", may("configuration", "edit"), "Take it away").nothing(204);
    COMMAND_TASK_TARGET = Route::new(Post, "/orchestrator/v1/command/task_target",
        "command_task_target", EDIT_ROLE, "Tasks on nodes as one thing that a role can permit")
        .request::<TaskTargetCommand>().reply::<TaskTargetCreated>(200);
    TASK_TARGETS = Route::new(Get, "/orchestrator/v1/scopes/task_targets", "task_targets", VIEW,
        "The task targets").reply::<TaskTargetList>(200);
    TASK_TARGET = Route::new(Get, "/orchestrator/v1/scopes/task_targets/{task_target}",
        "task_target", VIEW, "One task target").reply::<TaskTarget>(200);
    TASK_TARGET_DELETE = Route::new(Delete, "/orchestrator/v1/scopes/task_targets/{task_target}",
        "task_target_delete", EDIT_ROLE, "Delete a task target that no role names").nothing(204);
}
