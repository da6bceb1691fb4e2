//! The rights of owners of scheduled jobs, at the time at which a job starts.

use http::StatusCode;
use serde_json::{Value, json};
use store::{GrantRow, NewUserRow};

use crate::doors::token;
use crate::schedules::{PLACE, body, make, put, with, with_input};
use crate::world::{Reply, World};

const RITA: &str = "00000000-0000-4000-8000-000000041ca0";
const FRED: &str = "00000000-0000-4000-8000-0000000f4ed5";

/// Creates the user Fred, who may view and run the task `test`.
pub(crate) async fn fred(world: &World) -> String {
    let user = NewUserRow {
        id: FRED.to_owned(),
        login: "fred".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        is_superuser: false,
        is_remote: false,
        created_ms: 0,
    };
    world.store.insert_user(user).await.unwrap();
    token(world, "freds", FRED, i64::MAX).await;
    let admin = world.store.user_by_login("admin").await.unwrap().unwrap();
    let admin = world.state.access.load_identity(&admin.id).await.unwrap();
    let spec = rbac::RoleSpec {
        display_name: "runners".to_owned(),
        permissions: vec![
            rbac::PermissionGrant::new("orchestrator", "view", "*"),
            rbac::PermissionGrant::new("tasks", "run", "test"),
            rbac::PermissionGrant::new("plans", "run", "test::asks"),
        ],
        user_ids: vec![FRED.to_owned()],
        ..rbac::RoleSpec::default()
    };
    world.state.access.create_role(&admin, spec).await.unwrap();
    FRED.to_owned()
}

pub(crate) async fn as_fred(world: &World, method: &str, path: &str, body: Value) -> Reply {
    let mut request = world.request(method, path, body.to_string());
    let token = http::HeaderValue::from_static("freds");
    request.headers_mut().insert("X-Authentication", token);
    world.send(request).await
}

/// A3, A4: a scheduled job runs nothing that its owner may not run now, and not with the
/// permissions of another user.
#[tokio::test]
async fn the_clock_lends_nobody_a_right() {
    let world = World::new().await;
    fred(&world).await;
    let own = as_fred(&world, "POST", PLACE, body()).await;
    assert_eq!(own.status, StatusCode::OK, "{}", own.text());
    let not_permitted = "puppetlabs.orchestrator/not-permitted";
    let other = as_fred(
        &world,
        "POST",
        PLACE,
        with_input("name", json!("test::typed")),
    )
    .await;
    assert_eq!(other.kind(), not_permitted);
    let mut deploy = with("type", json!("deploy"));
    deploy["input"] = json!({"scope": {"nodes": ["a"]}});
    assert_eq!(
        as_fred(&world, "POST", PLACE, deploy).await.kind(),
        not_permitted
    );
    let query = with_input("scope", json!({"query": "nodes {}"}));
    let refused = as_fred(&world, "POST", PLACE, query).await;
    assert_eq!(refused.kind(), "puppetlabs.orchestrator/query-error");
    // A scheduled job of the administrator: Fred can neither edit nor delete it.
    let id = make(&world, body()).await;
    let path = format!("{PLACE}/{id}");
    for change in [json!({"description": "mine"}), json!({"enabled": false})] {
        assert_eq!(
            as_fred(&world, "PUT", &path, change).await.kind(),
            not_permitted
        );
    }
    let old = format!("/orchestrator/v1/scheduled_jobs/{id}");
    assert_eq!(
        as_fred(&world, "DELETE", &old, json!(null)).await.kind(),
        not_permitted
    );
    // The administrator may delete Fred's scheduled job, but not edit it: it runs with Fred's
    // permissions.
    let edit = put(&world, "1", json!({"description": "x"})).await;
    assert_eq!(edit.kind(), not_permitted);
    assert_eq!(
        put(&world, "1", json!({"enabled": false})).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_owner_who_lost_the_right_or_is_revoked_gets_an_error_and_no_run() {
    let world = World::new().await;
    fred(&world).await;
    for _ in 0..2 {
        let made = as_fred(&world, "POST", PLACE, body()).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    let role = world.store.roles().await.unwrap();
    let role = role
        .iter()
        .find(|role| role.display_name == "runners")
        .unwrap();
    let left = vec![GrantRow {
        object_type: "orchestrator".to_owned(),
        action: "view".to_owned(),
        instance: "*".to_owned(),
    }];
    let mut changed = role.clone();
    changed.permissions = left;
    world.store.put_role(changed).await.unwrap();
    let lost = world.start_soon("1").await;
    let told = &lost["last_run"]["job"]["submission_error"];
    assert_eq!(
        told["kind"], "puppetlabs.orchestrator/not-permitted",
        "{lost}"
    );
    let revoked = store::UserChange {
        is_revoked: Some(true),
        ..store::UserChange::default()
    };
    world.store.update_user(FRED, revoked).await.unwrap();
    let gone = world.start_soon("2").await;
    let told = &gone["last_run"]["job"]["submission_error"];
    assert!(
        told["msg"].as_str().unwrap().contains("is revoked"),
        "{gone}"
    );
    assert_eq!(
        world.ok("/orchestrator/v1/jobs").await["pagination"]["total"],
        0
    );
}

#[tokio::test]
async fn the_clock_starts_nothing_for_who_is_gone_from_his_directory() {
    let world = World::new().await;
    let remote = NewUserRow {
        id: RITA.to_owned(),
        login: "rita".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        // The permissions of this user are not the reason for the refusal.
        is_superuser: true,
        is_remote: true,
        created_ms: 0,
    };
    world.store.insert_user(remote).await.unwrap();
    let origin = store::UserOrigin {
        origin: "ldap:one".to_owned(),
        subject: "rita".to_owned(),
    };
    let (store, access) = (&world.store, &world.state.access);
    store.set_user_origin(RITA, &origin, 0).await.unwrap();
    // A user without a token and without a scheduled job is not looked up in the directory.
    let due = async || {
        let due = access.due_remote_users("ldap:one", std::time::Duration::ZERO, 10);
        due.await.unwrap()
    };
    assert_eq!(due().await, []);
    token(&world, "ritas", RITA, i64::MAX).await;
    for _ in 0..2 {
        let mut request = world.request("POST", PLACE, body().to_string());
        let shown = http::HeaderValue::from_static("ritas");
        request.headers_mut().insert("X-Authentication", shown);
        let made = world.send(request).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }
    store.revoke_tokens_of(RITA, None, 0).await.unwrap();
    let asked = due().await;
    assert_eq!(asked.len(), 1, "for her schedules");
    access.revoke_remote_user(&asked[0]).await.unwrap();
    let gone = world.start_soon("1").await;
    let told = &gone["last_run"]["job"]["submission_error"];
    assert!(
        told["msg"].as_str().unwrap().contains("directory any more"),
        "{gone}"
    );
    // The user is in the directory again, without a login in between.
    let back = rbac::RemoteUser {
        origin: origin.origin,
        subject: origin.subject,
        login: "rita".to_owned(),
        ..rbac::RemoteUser::default()
    };
    let stays = access.confirm_remote_user(&asked[0], back);
    Box::pin(stays).await.unwrap();
    let back = world.start_soon("2").await;
    let told = &back["last_run"]["job"]["submission_error"];
    assert_eq!(*told, Value::Null, "{back}");
}
