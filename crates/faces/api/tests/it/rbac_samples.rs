//! Requests to the routes of RBAC that are valid except for their sender.

use std::sync::atomic::{AtomicU64, Ordering};

use api_types::Route;
use rbac::{GroupSpec, RoleSpec, UserSpec};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::world::World;

/// Path and body; `None` if the route is not one of RBAC. [`filled`] replaces placeholders in `<>`.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let role_users = json!({"role_id": "<role>", "user_ids": ["<user>"]});
    let role_groups = json!({"role_id": "<role>", "group_ids": ["<group>"]});
    let view = json!([{"object_type": "orchestrator", "action": "view", "instance": "*"}]);
    let role_permissions = json!({"role_id": "<role>", "permissions": view});
    let (path, body) = match route.operation_id {
        "token_authenticate" => (
            "/rbac-api/v2/auth/token/authenticate",
            json!({"token": "<token>", "update_last_activity?": false}),
        ),
        "token_create" => ("/rbac-api/v1/tokens", json!({"label": "<unique>"})),
        "token_revoke" => ("/rbac-api/v2/tokens/<own token>", Value::Null),
        "users" => ("/rbac-api/v1/users?id=<user>", Value::Null),
        "users_v2" => (
            "/rbac-api/v2/users?limit=2&order_by=email&filter=a",
            Value::Null,
        ),
        "user_create" => (
            "/rbac-api/v1/users",
            json!({"login": "<unique>", "display_name": "x", "email": "", "role_ids": []}),
        ),
        "user_password" => (
            "/rbac-api/v1/users/current/password",
            json!({"current_password": "<password>", "password": "<password>"}),
        ),
        "user" => ("/rbac-api/v1/users/<self>", Value::Null),
        "user_update" => (
            "/rbac-api/v1/users/<user>",
            json!({"id": "<user>", "login": "<unique>", "display_name": "x", "email": "",
                "role_ids": [], "is_revoked": false, "is_superuser": false}),
        ),
        "user_delete" => ("/rbac-api/v1/users/<user>", Value::Null),
        "user_tokens" => ("/rbac-api/v1/users/<self>/tokens?limit=1", Value::Null),
        "user_reset" => ("/rbac-api/v1/users/<user>/password/reset", Value::Null),
        "auth_reset" => (
            "/rbac-api/v1/auth/reset",
            json!({"token": "<reset>", "password": "a good password"}),
        ),
        "validate_password" => (
            "/rbac-api/v1/command/validate-password",
            json!({"password": "short"}),
        ),
        "validate_login" => ("/rbac-api/v1/command/validate-login", json!({"login": "x"})),
        "user_add_roles" => (
            "/rbac-api/v1/command/users/add-roles",
            json!({"user_id": "<user>", "role_ids": ["<role>"]}),
        ),
        "user_remove_roles" => (
            "/rbac-api/v1/command/users/remove-roles",
            json!({"user_id": "<user>", "role_ids": ["<role>"]}),
        ),
        "user_revoke" => (
            "/rbac-api/v1/command/users/revoke",
            json!({"user_id": "<user>"}),
        ),
        "user_reinstate" => (
            "/rbac-api/v1/command/users/reinstate",
            json!({"user_id": "<user>"}),
        ),
        "user_groups" => ("/rbac-api/v1/groups", Value::Null),
        "user_group_create" => ("/rbac-api/v1/groups", json!({"login": "<unique>"})),
        "user_group_create_v2" => (
            "/rbac-api/v2/groups",
            json!({"login": "<unique>", "validate": false}),
        ),
        "user_group_command_create" => (
            "/rbac-api/v1/command/groups/create",
            json!({"login": "<unique>"}),
        ),
        "user_group" => ("/rbac-api/v1/groups/<group>", Value::Null),
        "user_group_update" => (
            "/rbac-api/v1/groups/<group>",
            json!({"id": "<group>", "login": "<group login>", "display_name": "New",
                "role_ids": []}),
        ),
        "user_group_delete" => ("/rbac-api/v1/groups/<group>", Value::Null),
        "roles" => ("/rbac-api/v1/roles", Value::Null),
        "role_create" => (
            "/rbac-api/v1/roles",
            json!({"display_name": "<unique>", "description": "", "permissions": [],
                "user_ids": [], "group_ids": []}),
        ),
        "role" => ("/rbac-api/v1/roles/<role>", Value::Null),
        "role_update" => (
            "/rbac-api/v1/roles/<role>",
            json!({"id": "<role>", "display_name": "<unique>", "description": "",
                "permissions": [], "user_ids": [], "group_ids": []}),
        ),
        "role_delete" => ("/rbac-api/v1/roles/<role>", Value::Null),
        "role_add_users" => ("/rbac-api/v1/command/roles/add-users", role_users),
        "role_remove_users" => ("/rbac-api/v1/command/roles/remove-users", role_users),
        "role_add_groups" => ("/rbac-api/v1/command/roles/add-groups", role_groups),
        "role_add_user_groups" => ("/rbac-api/v1/command/roles/add-user-groups", role_groups),
        "role_remove_groups" => ("/rbac-api/v1/command/roles/remove-groups", role_groups),
        "role_remove_user_groups" => ("/rbac-api/v1/command/roles/remove-user-groups", role_groups),
        "role_add_permissions" => (
            "/rbac-api/v1/command/roles/add-permissions",
            role_permissions,
        ),
        "role_remove_permissions" => (
            "/rbac-api/v1/command/roles/remove-permissions",
            role_permissions,
        ),
        "permission_types" => ("/rbac-api/v1/types", Value::Null),
        "permitted" => (
            "/rbac-api/v1/permitted",
            json!({"token": "<self>", "permissions": view}),
        ),
        "permitted_on" => ("/rbac-api/v1/permitted/tasks/run", Value::Null),
        "permitted_on_of" => ("/rbac-api/v1/permitted/tasks/run/<self>", Value::Null),
        "disclaimer" => ("/rbac-api/v1/config/disclaimer", Value::Null),
        "set_disclaimer" => (
            "/rbac-api/v1/command/config/set-disclaimer",
            json!({"disclaimer": "x"}),
        ),
        "remove_disclaimer" => ("/rbac-api/v1/command/config/remove-disclaimer", Value::Null),
        "command_task_target" => (
            "/orchestrator/v1/command/task_target",
            json!({"display_name": "x", "tasks": ["test"], "nodes": ["a"], "node_groups": []}),
        ),
        "task_targets" => ("/orchestrator/v1/scopes/task_targets", Value::Null),
        "task_target_delete" => ("/orchestrator/v1/scopes/task_targets/<target>", Value::Null),
        "task_target" => ("/orchestrator/v1/scopes/task_targets/<target>", Value::Null),
        _ => return None,
    };
    let body = match body {
        Value::Null => String::new(),
        // Ids of roles are JSON numbers.
        body => body.to_string().replace("\"<role>\"", "<role>"),
    };
    Some((path, body))
}

/// Replaces placeholders by the ids of objects that are created for this request, and of the sender
/// with `token`.
pub(crate) async fn filled(
    world: &World,
    path: &str,
    body: String,
    token: Option<&str>,
) -> (String, String) {
    let access = &world.state.access;
    let api_user = access.api_user();
    let mut texts = [path.to_owned(), body];
    let has = |texts: &[String; 2], what: &str| texts.iter().any(|text| text.contains(what));
    let put = |texts: &mut [String; 2], what: &str, with: &str| {
        texts
            .iter_mut()
            .for_each(|text| *text = text.replace(what, with));
    };
    put(&mut texts, "<password>", &world.password());
    put(&mut texts, "<unique>", &unique());
    let sender = match token {
        Some(token) => access.authenticate(token).await.ok(),
        None => None,
    };
    let sender = sender.unwrap_or_else(|| access.api_user());
    put(&mut texts, "<self>", &sender.user_id);
    for (what, of) in [
        ("<token>", &api_user),
        ("<spare>", &api_user),
        ("<own token>", &sender),
    ] {
        if has(&texts, what) {
            let made = unique();
            crate::doors::token(world, &made, &of.user_id, i64::MAX).await;
            put(&mut texts, what, &made);
        }
    }
    if has(&texts, "<user>") || has(&texts, "<reset>") {
        let spec = UserSpec {
            login: unique(),
            display_name: "x".to_owned(),
            ..UserSpec::default()
        };
        let user = access.create_user(&api_user, spec).await.expect("a user");
        put(&mut texts, "<user>", &user);
        if has(&texts, "<reset>") {
            let reset = access.reset_token(&api_user, &user).await;
            put(
                &mut texts,
                "<reset>",
                reset.expect("a token").expose_secret(),
            );
        }
    }
    if has(&texts, "<role>") {
        let spec = RoleSpec {
            display_name: unique(),
            ..RoleSpec::default()
        };
        let role = access.create_role(&api_user, spec).await.expect("a role");
        put(&mut texts, "<role>", &role.to_string());
    }
    if has(&texts, "<group>") {
        let spec = GroupSpec {
            login: unique(),
            ..GroupSpec::default()
        };
        put(&mut texts, "<group login>", &spec.login);
        let group = access.create_group(&api_user, spec).await.expect("a group");
        put(&mut texts, "<group>", &group);
    }
    if has(&texts, "<target>") {
        let target = rbac::TaskTargetRecord {
            display_name: "x".to_owned(),
            ..Default::default()
        };
        let made = access.create_task_target(&api_user, target).await;
        put(&mut texts, "<target>", &made.expect("a target").to_string());
    }
    let [path, body] = texts;
    (path, body)
}

fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("unique-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
