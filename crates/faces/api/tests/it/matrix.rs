//! A3: every route with every default role. The expectations do not come from the code under test:
//! the permissions of the default roles and those of sensitive routes are written down here.

use api_types::{Policy, Route, routes};
use http::StatusCode;
use rbac::{TokenRequest, UserSpec};
use secrecy::ExposeSecret as _;

use crate::agents::Manner;
use crate::doors::{HANDLER_ASKS, ask, asks_for_a_certificate};
use crate::world::World;

const ADMINISTRATORS: i64 = 1;
pub(crate) const OPERATORS: i64 = 2;
pub(crate) const VIEWERS: i64 = 3;
const CODE_DEPLOYERS: i64 = 4;
const PROJECT_DEPLOYERS: i64 = 5;
pub(crate) const NOBODY: i64 = 0;

/// Roles besides administrators that have a permission. No other role has one that is not listed.
const HOLDERS: &[(&str, &[i64])] = &[
    (
        "orchestrator:view",
        &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS],
    ),
    ("console_page:view", &[OPERATORS, VIEWERS]),
    ("puppet_agent:run", &[OPERATORS]),
    ("plans:run", &[PROJECT_DEPLOYERS]),
    (
        "environment:deploy_code",
        &[CODE_DEPLOYERS, PROJECT_DEPLOYERS],
    ),
    ("nodes:view_data", &[OPERATORS, VIEWERS]),
    ("nodes:edit_data", &[OPERATORS]),
    ("cert_requests:accept_reject", &[OPERATORS]),
    ("node_groups:view", &[OPERATORS, VIEWERS]),
    ("node_groups:modify_children", &[OPERATORS]),
    ("node_groups:edit_child_rules", &[OPERATORS]),
    ("node_groups:edit_classification", &[OPERATORS]),
    ("node_groups:edit_config_data", &[OPERATORS]),
    ("node_groups:edit_params_and_vars", &[OPERATORS]),
    ("node_groups:set_environment", &[OPERATORS]),
];

/// Roles besides administrators that may use routes that change something or show secrets.
const SENSITIVE: &[(&str, &[i64])] = &[
    ("command_task", &[]),
    ("command_action", &[]),
    ("command_stop", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    ("command_task_target", &[]),
    ("task_target_delete", &[]),
    ("user_create", &[]),
    ("user_update", &[]),
    ("user_delete", &[]),
    ("user_reset", &[]),
    ("user_revoke", &[]),
    ("user_reinstate", &[]),
    ("user_add_roles", &[]),
    ("user_remove_roles", &[]),
    ("user_group_create", &[]),
    ("user_group_create_v2", &[]),
    ("user_group_command_create", &[]),
    ("user_group_update", &[]),
    ("user_group_delete", &[]),
    ("role_create", &[]),
    ("role_update", &[]),
    ("role_delete", &[]),
    ("role_add_users", &[]),
    ("role_remove_users", &[]),
    ("role_add_groups", &[]),
    ("role_add_user_groups", &[]),
    ("role_remove_groups", &[]),
    ("role_remove_user_groups", &[]),
    ("role_add_permissions", &[]),
    ("role_remove_permissions", &[]),
    ("set_disclaimer", &[]),
    ("remove_disclaimer", &[]),
    ("users", &[OPERATORS, VIEWERS]),
    ("users_v2", &[OPERATORS, VIEWERS]),
    ("roles", &[OPERATORS, VIEWERS]),
    // Needs the permission to run the task, or to change the scheduled jobs of others.
    ("scheduled_create", &[]),
    ("scheduled_update", &[]),
    ("scheduled_delete", &[]),
    ("jobs", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    ("applications", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    ("instances", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    ("run_order", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    ("doctor", &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS]),
    (
        "code_webhook_queue",
        &[OPERATORS, VIEWERS, PROJECT_DEPLOYERS],
    ),
    // A role that may view groups may not change them.
    ("node_group_create", &[OPERATORS]),
    ("classifier_environment_put", &[OPERATORS]),
    ("classifier_environment_delete", &[OPERATORS]),
    ("import_hierarchy", &[OPERATORS]),
];

fn expected(route: &Route, role: i64) -> bool {
    if role == ADMINISTRATORS {
        // The sample request does not have this user's current password.
        return route.operation_id != "user_password";
    }
    let listed = SENSITIVE.iter().find(|(id, _)| *id == route.operation_id);
    if let Some((_, roles)) = listed {
        return roles.contains(&role);
    }
    match route.policy {
        Policy::Permission {
            object_type,
            action,
        } => {
            let asked = format!("{object_type}:{action}");
            let holders = HOLDERS.iter().find(|(name, _)| *name == asked);
            holders.is_some_and(|(_, roles)| roles.contains(&role))
        }
        _ => !HANDLER_ASKS.contains(&route.operation_id),
    }
}

#[tokio::test]
async fn a3_every_route_lets_exactly_the_right_default_roles_through() {
    let world = World::deploying().await;
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    let mut asked = 0;
    for role in [
        ADMINISTRATORS,
        OPERATORS,
        VIEWERS,
        CODE_DEPLOYERS,
        PROJECT_DEPLOYERS,
        NOBODY,
    ] {
        let token = member(&world, role).await;
        for route in routes::ALL {
            if asks_for_a_certificate(route) {
                continue;
            }
            let reply = ask(&world, route, Some(&token)).await;
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&reply.status);
            assert_eq!(
                !refused,
                expected(route, role),
                "role {role}, {route:?}: {}",
                reply.text()
            );
            assert!(
                !reply.status.is_server_error(),
                "{route:?}: {}",
                reply.text()
            );
            asked += 1;
        }
    }
    assert!(asked > 6 * 60, "{asked}");
}

#[tokio::test]
async fn a3_every_sensitive_route_is_there_and_every_permission_is_in_the_catalogue() {
    for (id, _) in SENSITIVE {
        assert!(
            routes::ALL.iter().any(|route| route.operation_id == *id),
            "{id}"
        );
    }
    for route in routes::ALL {
        if let Policy::Permission {
            object_type,
            action,
        } = route.policy
        {
            assert!(
                rbac::catalog::find(object_type, action).is_some(),
                "{route:?} asks for {object_type}:{action}, which no role can give"
            );
        }
    }
}

const PASSWORD: &str = "a good password";

/// A token of a new user who has only this role.
pub(crate) async fn member(world: &World, role: i64) -> String {
    let access = &world.state.access;
    let api_user = access.api_user();
    let spec = UserSpec {
        login: format!("member of {role}"),
        display_name: "x".to_owned(),
        password: Some(PASSWORD.into()),
        role_ids: (role != NOBODY).then_some(role).into_iter().collect(),
        ..UserSpec::default()
    };
    let login = spec.login.clone();
    access.create_user(&api_user, spec).await.expect("a user");
    let token = access.login(&login, PASSWORD.into(), TokenRequest::default(), None);
    Box::pin(token)
        .await
        .expect("a token")
        .expose_secret()
        .to_owned()
}
