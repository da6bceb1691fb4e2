//! Users, groups, roles and tokens over HTTP: shapes, statuses, kinds, and secrets that must not be
//! revealed (A13). Permissions are tested in the crate `rbac` and in `matrix`.

use api::ServerInfo;
use http::{Request, StatusCode, header};
use pki::CertnamePrivilege;
use serde_json::{Value, json};

use crate::site::Site;
use crate::world::{Reply, World, privileged};

const V1: &str = "/rbac-api/v1";

async fn send(world: &World, method: &str, path: &str, body: Value) -> Reply {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let path = format!("{V1}/{path}");
    world.send(world.request(method, &path, body)).await
}

async fn ok(world: &World, method: &str, path: &str, body: Value, status: u16) -> Value {
    let reply = send(world, method, path, body).await;
    assert_eq!(reply.status.as_u16(), status, "{path}: {}", reply.text());
    match reply.body.is_empty() {
        true => Value::Null,
        false => reply.json(),
    }
}

async fn refused(
    world: &World,
    method: &str,
    path: &str,
    body: Value,
    status: u16,
    kind: &str,
) -> Value {
    let reply = send(world, method, path, body.clone()).await;
    let (found, body_text) = (reply.status.as_u16(), reply.text());
    assert_eq!(found, status, "{method} {path} {body}: {body_text}");
    let kind = format!("puppetlabs.rbac/{kind}");
    assert_eq!(reply.kind(), kind, "{method} {path} {body}");
    reply.json()
}

async fn fred(world: &World) -> Value {
    let body = json!({"login": "fred", "display_name": "Fred", "email": "fred@example.com",
        "password": "freds password", "role_ids": [3]});
    ok(world, "POST", "users", body, 201).await
}

async fn login(world: &World, login: &str, password: &str) -> Reply {
    let body = json!({"login": login, "password": password}).to_string();
    let request = Request::post("/rbac-api/v1/auth/token").body(body.into());
    world.send(request.expect("a request")).await
}

#[tokio::test]
async fn the_life_of_a_user() {
    let world = World::new().await;
    let body = json!({"login": "fred", "display_name": "Fred", "email": "fred@example.com",
        "password": "freds password", "role_ids": [3]});
    let made = send(&world, "POST", "users", body.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let user = made.json();
    let id = user["id"].as_str().unwrap().to_owned();
    assert_eq!(made.headers[header::LOCATION], format!("{V1}/users/{id}"));
    assert_eq!(
        user,
        json!({"id": id, "login": "fred", "email": "fred@example.com", "display_name": "Fred",
            "role_ids": [3], "inherited_role_ids": [], "group_ids": [], "is_group": false,
            "is_remote": false, "is_superuser": false, "is_revoked": false, "last_login": null})
    );
    refused(&world, "POST", "users", body, 409, "conflict").await;
    let path = format!("users/{id}");
    assert_eq!(ok(&world, "GET", &path, Value::Null, 200).await, user);
    let listed = ok(&world, "GET", &format!("users?id={id}"), Value::Null, 200).await;
    assert_eq!(listed, json!([user]));
    let mut changed = user.clone();
    changed["display_name"] = json!("Frederick");
    changed["role_ids"] = json!([2, 3]);
    let shown = ok(&world, "PUT", &path, changed.clone(), 200).await;
    assert_eq!(shown, changed);
    assert_eq!(
        login(&world, "fred", "freds password").await.status,
        StatusCode::OK
    );
    for command in ["revoke", "reinstate"] {
        let path = format!("command/users/{command}");
        ok(&world, "POST", &path, json!({"user_id": id}), 204).await;
        let status = login(&world, "fred", "freds password").await.status;
        assert_eq!(status == StatusCode::OK, command == "reinstate");
    }
    let roles = json!({"user_id": id, "role_ids": [2]});
    ok(&world, "POST", "command/users/remove-roles", roles, 204).await;
    assert_eq!(
        ok(&world, "GET", &path, Value::Null, 200).await["role_ids"],
        json!([3])
    );
    ok(&world, "DELETE", &path, Value::Null, 204).await;
    refused(&world, "GET", &path, Value::Null, 404, "not-found").await;
    refused(&world, "DELETE", &path, Value::Null, 404, "not-found").await;
}

#[tokio::test]
async fn users_come_page_by_page() {
    let world = World::new().await;
    fred(&world).await;
    let list = world
        .ok("/rbac-api/v2/users?limit=1&offset=1&order=desc")
        .await;
    assert_eq!(list["users"][0]["login"], "api_user");
    assert_eq!(
        list["pagination"],
        json!({"limit": 1, "offset": 1, "order_by": "login", "order": "desc", "filter": "",
            "total": 3})
    );
    let found = world
        .ok("/rbac-api/v2/users?filter=FRED&include_roles=false")
        .await;
    assert_eq!(found["pagination"]["total"], 1);
    assert_eq!(found["pagination"]["limit"], 500);
    assert_eq!(found["users"][0]["role_ids"], json!([]));
}

#[tokio::test]
async fn the_life_of_a_role() {
    let world = World::new().await;
    let user = fred(&world).await["id"].clone();
    let run = json!({"object_type": "tasks", "action": "run", "instance": "package"});
    let view = json!({"object_type": "orchestrator", "action": "view", "instance": "*"});
    let body = json!({"display_name": "Web", "description": "Runs", "permissions": [run],
        "user_ids": [user], "group_ids": []});
    let made = send(&world, "POST", "roles", body.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let role = made.json();
    let id = role["id"].as_i64().unwrap();
    assert_eq!(made.headers[header::LOCATION], format!("{V1}/roles/{id}"));
    let mut expected = body.clone();
    expected["id"] = json!(id);
    assert_eq!(role, expected);
    refused(&world, "POST", "roles", body, 409, "conflict").await;
    let path = format!("roles/{id}");
    let permissions = json!({"role_id": id, "permissions": [view]});
    let command = |name: &str| format!("command/roles/{name}");
    ok(
        &world,
        "POST",
        &command("add-permissions"),
        permissions.clone(),
        204,
    )
    .await;
    let shown = ok(&world, "GET", &path, Value::Null, 200).await;
    assert_eq!(shown["permissions"], json!([view, run]));
    ok(
        &world,
        "POST",
        &command("remove-permissions"),
        permissions,
        204,
    )
    .await;
    let members = json!({"role_id": id, "user_ids": [user]});
    ok(
        &world,
        "POST",
        &command("remove-users"),
        members.clone(),
        204,
    )
    .await;
    let shown = ok(&world, "GET", &path, Value::Null, 200).await;
    assert_eq!(
        (&shown["permissions"], &shown["user_ids"]),
        (&json!([run]), &json!([]))
    );
    ok(&world, "POST", &command("add-users"), members, 204).await;
    let question = json!({"token": user, "permissions": [run, view,
        {"object_type": "tasks", "action": "run", "instance": "service"}]});
    // `orchestrator:view` comes from the role of viewers, the task from the new role.
    let answer = ok(&world, "POST", "permitted", question, 200).await;
    assert_eq!(answer, json!([true, true, false]));
    let user = user.as_str().unwrap();
    let on = ok(
        &world,
        "GET",
        &format!("permitted/tasks/run/{user}"),
        Value::Null,
        200,
    )
    .await;
    assert_eq!(on, json!(["package"]));
    let own = ok(&world, "GET", "permitted/tasks/run", Value::Null, 200).await;
    assert_eq!(own, json!(["*"]));
    let mut whole = shown;
    whole["description"] = json!("");
    assert_eq!(ok(&world, "PUT", &path, whole.clone(), 200).await, whole);
    ok(&world, "DELETE", &path, Value::Null, 204).await;
    refused(&world, "GET", &path, Value::Null, 404, "not-found").await;
    let names = ok(&world, "GET", "roles", Value::Null, 200).await;
    let names: Vec<_> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|role| &role["display_name"])
        .collect();
    let defaults = [
        "Administrators",
        "Operators",
        "Viewers",
        "Code Deployers",
        "Project Deployers",
    ];
    assert_eq!(names, defaults);
}

#[tokio::test]
async fn the_life_of_a_group() {
    let world = World::new().await;
    let made = send(
        &world,
        "POST",
        "groups",
        json!({"login": "staff", "role_ids": [3]}),
    )
    .await;
    assert_eq!(made.status, StatusCode::CREATED);
    let group = made.json();
    let id = group["id"].as_str().unwrap();
    assert_eq!(made.headers[header::LOCATION], format!("{V1}/groups/{id}"));
    assert_eq!(group["display_name"], "staff");
    let again = json!({"login": "staff"});
    refused(&world, "POST", "groups", again, 409, "conflict").await;
    let mut changed = group.clone();
    changed["role_ids"] = json!([]);
    let path = format!("groups/{id}");
    assert_eq!(
        ok(&world, "PUT", &path, changed.clone(), 200).await,
        changed
    );
    let members = json!({"role_id": 2, "group_ids": [id]});
    ok(
        &world,
        "POST",
        "command/roles/add-user-groups",
        members.clone(),
        204,
    )
    .await;
    assert_eq!(
        ok(&world, "GET", &path, Value::Null, 200).await["role_ids"],
        json!([2])
    );
    ok(&world, "POST", "command/roles/remove-groups", members, 204).await;
    changed["login"] = json!("other");
    refused(&world, "PUT", &path, changed, 400, "schema-violation").await;
    ok(&world, "DELETE", &path, Value::Null, 204).await;
    assert_eq!(
        ok(&world, "GET", "groups", Value::Null, 200).await,
        json!([])
    );
}

#[tokio::test]
async fn the_life_of_a_token() {
    let world = World::new().await;
    let wanted = json!({"label": "ci", "description": "for CI", "client": "curl",
        "lifetime": "30m"});
    let token = ok(&world, "POST", "tokens", wanted, 200).await["token"].clone();
    let path = "/rbac-api/v2/auth/token/authenticate";
    let ask = |token: &Value| json!({"token": token, "update_last_activity?": true}).to_string();
    let facts = world.post(path, ask(&token)).await.json();
    assert_eq!(facts["login"], "admin");
    assert_eq!(
        (&facts["label"], &facts["client"]),
        (&json!("ci"), &json!("curl"))
    );
    let admin = facts["user_id"].as_str().unwrap();
    let list = format!("users/{admin}/tokens?order_by=creation_date&order=desc&limit=1");
    let list = ok(&world, "GET", &list, Value::Null, 200).await;
    assert_eq!(list["pagination"]["total"], 2);
    assert_eq!(list["items"][0]["id"], facts["id"]);
    assert!(!list.to_string().contains(token.as_str().unwrap()));
    let ids = format!(
        "/rbac-api/v2/tokens?revoke_tokens_by_ids={}",
        facts["id"].as_str().unwrap()
    );
    let gone = world.send(world.request("DELETE", &ids, "")).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    let revoked = world.post(path, ask(&token)).await;
    assert_eq!(revoked.status, StatusCode::FORBIDDEN);
    assert_eq!(revoked.kind(), "puppetlabs.rbac/token-revoked");
    let unknown = world.post(path, ask(&json!("none"))).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    assert_eq!(unknown.kind(), "puppetlabs.rbac/invalid-token");
    let mut mine = World::request(&world, "GET", "/rbac-api/v1/users/current", "");
    let header = token.as_str().unwrap().parse().unwrap();
    mine.headers_mut().insert("x-authentication", header);
    let mine = world.send(mine).await;
    assert_eq!(mine.status, StatusCode::UNAUTHORIZED);
    assert_eq!(mine.kind(), "puppetlabs.rbac/token-revoked");
}

#[tokio::test]
async fn what_cannot_be_revoked_is_told_and_the_rest_is() {
    let world = World::new().await;
    let token = ok(&world, "POST", "tokens", json!({"label": "ci"}), 200).await["token"].clone();
    let body = json!({"revoke_tokens": ["none"], "revoke_tokens_by_labels": ["ci", "no such"],
        "revoke_tokens_by_usernames": ["nobody"], "revoke_tokens_by_ids": ["x"]});
    let request = world.request("DELETE", "/rbac-api/v2/tokens", body.to_string());
    let partly = world.send(request).await;
    assert_eq!(partly.status, StatusCode::BAD_REQUEST);
    assert_eq!(partly.kind(), "puppetlabs.rbac/invalid-token");
    assert_eq!(
        partly.json()["details"],
        json!({"other_tokens_revoked": true, "unrecognized_tokens_count": 1,
            "unrecognized_labels": ["no such"], "unrecognized_usernames": ["nobody"],
            "unrecognized_ids": ["x"], "not_permitted": []})
    );
    let path = "/rbac-api/v2/auth/token/authenticate";
    let ask = world.post(path, json!({"token": token}).to_string()).await;
    assert_eq!(ask.kind(), "puppetlabs.rbac/token-revoked");
}

#[tokio::test]
async fn mistakes_have_the_kinds_of_rbac() {
    let world = World::new().await;
    let fred = fred(&world).await;
    let path = format!("users/{}", fred["id"].as_str().unwrap());
    let admin = format!("users/{}", rbac::ADMIN_ID);
    let nobody = "00000000-0000-4000-8000-000000000000";
    let grant = |action: &str, instance: &str| {
        let permission = json!({"object_type": "tasks", "action": action, "instance": instance});
        json!({"display_name": "x", "permissions": [permission]})
    };
    let new = |key: &str, value: Value| {
        let mut body = json!({"login": "x", "display_name": "x"});
        body[key] = value;
        body
    };
    for (method, path, body, status, kind) in [
        ("GET", "users/x", json!(null), 400, "invalid-uuid"),
        (
            "GET",
            "users/..%2f..%2fetc",
            json!(null),
            400,
            "invalid-uuid",
        ),
        ("GET", "users?id=x", json!(null), 400, "invalid-id-filter"),
        ("GET", "roles/x", json!(null), 400, "schema-violation"),
        (
            "GET",
            "roles/99999999999999999999",
            json!(null),
            400,
            "schema-violation",
        ),
        ("GET", "roles/999", json!(null), 404, "not-found"),
        ("POST", "users", json!(null), 400, "malformed-request"),
        ("POST", "users", json!([]), 400, "schema-violation"),
        (
            "POST",
            "users",
            json!({"login": "x"}),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "users",
            new("unknown", json!(1)),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "users",
            new("login", json!("a\u{0}b")),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "users",
            new("login", json!(" ")),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "users",
            new("password", json!("short")),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "users",
            new("role_ids", json!([999])),
            422,
            "invalid-associated-id",
        ),
        (
            "POST",
            "roles",
            grant("no_such", "*"),
            400,
            "schema-violation",
        ),
        ("POST", "roles", grant("run", ""), 400, "schema-violation"),
        (
            "POST",
            "roles",
            json!({"display_name": "Viewers"}),
            409,
            "conflict",
        ),
        (
            "POST",
            "command/roles/add-users",
            json!({"role_id": 3, "user_ids": [nobody]}),
            422,
            "invalid-associated-id",
        ),
        (
            "POST",
            "command/roles/add-users",
            json!({"role_id": 3, "user_ids": [rbac::ADMIN_ID]}),
            403,
            "admin-user-immutable",
        ),
        (
            "POST",
            "command/roles/add-permissions",
            json!({"role_id": 3, "permissions": []}),
            403,
            "default-roles-immutable",
        ),
        (
            "DELETE",
            "roles/1",
            json!(null),
            403,
            "default-roles-immutable",
        ),
        ("DELETE", &*admin, json!(null), 403, "admin-user-immutable"),
        (
            "PUT",
            &*path,
            json!({"id": nobody, "login": "x", "display_name": "x"}),
            400,
            "inconsistent-id",
        ),
        (
            "GET",
            "permitted/no/such",
            json!(null),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "auth/reset",
            json!({"token": "x", "password": "long enough"}),
            403,
            "permission-denied",
        ),
        (
            "PUT",
            "users/current/password",
            json!({"current_password": "wrong", "password": "long enough"}),
            403,
            "permission-denied",
        ),
    ] {
        refused(&world, method, path, body, status, kind).await;
    }
    let shape = refused(
        &world,
        "POST",
        "users",
        json!({"login": 1}),
        400,
        "schema-violation",
    );
    let shape = shape.await;
    assert_eq!(shape["details"]["path"], "login");
    assert_eq!(shape["details"]["submitted"], "the number 1");
    assert!(
        shape["details"]["error"]
            .as_str()
            .unwrap()
            .contains("string")
    );
}

#[tokio::test]
async fn passwords_are_judged_and_reset_over_http() {
    let world = World::new().await;
    let id = fred(&world).await["id"].as_str().unwrap().to_owned();
    let judged = json!({"password": "short"});
    let judged = ok(&world, "POST", "command/validate-password", judged, 200).await;
    assert_eq!(judged["valid"], false);
    assert_eq!(judged["failures"][0]["rule-identifier"], "minimum-length");
    let taken = ok(
        &world,
        "POST",
        "command/validate-login",
        json!({"login": "fred"}),
        200,
    )
    .await;
    assert_eq!(taken["valid"], false);
    let path = format!("users/{id}/password/reset");
    let reset = ok(&world, "POST", &path, Value::Null, 200).await;
    let body = json!({"token": reset, "password": "a new password"});
    ok(&world, "POST", "auth/reset", body.clone(), 200).await;
    refused(&world, "POST", "auth/reset", body, 403, "permission-denied").await;
    assert_eq!(
        login(&world, "fred", "a new password").await.status,
        StatusCode::OK
    );
    assert_eq!(
        login(&world, "api_user", "").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn task_targets_are_made_and_listed() {
    let world = World::new().await;
    let body = json!({"display_name": "web", "tasks": ["test::init"], "nodes": ["a"],
        "node_groups": [], "pql_query": "nodes[certname] { }"});
    let path = "/orchestrator/v1/command/task_target";
    let made = world.post(path, body.to_string()).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    let id = "https://tutti.example.com:8143/orchestrator/v1/scopes/task_targets/1";
    assert_eq!(made.json(), json!({"task_target": {"id": id, "name": "1"}}));
    let shown = world.ok("/orchestrator/v1/scopes/task_targets/1").await;
    assert_eq!(
        shown,
        json!({"id": id, "name": "1", "display_name": "web", "tasks": ["test"],
            "all_tasks": false, "nodes": ["a"], "node_groups": [],
            "pql_query": "nodes[certname] { }"})
    );
    let list = world.ok("/orchestrator/v1/scopes/task_targets").await;
    assert_eq!(list, json!({"items": [shown]}));
    let mut equal = body.clone();
    equal["tasks"] = json!(["test", "test::init"]);
    let again = world.post(path, equal.to_string()).await.json();
    assert_eq!(again, made.json(), "an equal one is that one");
    let gone = world.get("/orchestrator/v1/scopes/task_targets/2").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    assert_eq!(gone.kind(), "puppetlabs.orchestrator/unknown-task-target");
    for (key, value) in [
        ("display_name", json!(" ")),
        ("tasks", json!(null)),
        ("tasks", json!(["../x"])),
        ("nodes", json!(null)),
        ("nodes", json!([1])),
        ("node_groups", json!("x")),
        ("pql_query", json!("")),
        ("unknown", json!(1)),
    ] {
        let mut body = body.clone();
        body[key] = value;
        let reply = world.post(path, body.to_string()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    }
}

#[tokio::test]
async fn a_task_target_is_deleted_when_no_role_names_it() {
    let world = World::new().await;
    let body = json!({"display_name": "web", "all_tasks": true, "nodes": ["a"], "node_groups": []});
    let path = "/orchestrator/v1/command/task_target";
    world.post(path, body.to_string()).await;
    let grant = json!({"object_type": "tasks", "action": "run_with_constraints", "instance": "1"});
    let role = json!({"display_name": "webbers", "permissions": [grant], "user_ids": [],
        "group_ids": []});
    let role = world.post("/rbac-api/v1/roles", role.to_string()).await;
    assert_eq!(role.status, StatusCode::CREATED, "{}", role.text());
    let id = role.json()["id"].clone();
    let delete = async |target: &str| {
        let path = format!("/orchestrator/v1/scopes/task_targets/{target}");
        world
            .send(world.request("DELETE", &path, String::new()))
            .await
    };
    let used = delete("1").await;
    assert_eq!(used.status, StatusCode::CONFLICT, "{}", used.text());
    assert_eq!(used.kind(), "tutti/task-target-in-use");
    assert_eq!(used.json()["details"]["roles"], json!([id]));
    let path = format!("/rbac-api/v1/roles/{id}");
    let request = world.request("DELETE", &path, String::new());
    assert!(world.send(request).await.status.is_success());
    assert_eq!(delete("1").await.status, StatusCode::NO_CONTENT);
    let list = world.ok("/orchestrator/v1/scopes/task_targets").await;
    assert_eq!(list, json!({"items": []}));
    let gone = delete("1").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    assert_eq!(gone.kind(), "puppetlabs.orchestrator/unknown-task-target");
    assert_eq!(delete("-1").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_certificate_of_the_list_needs_no_token_and_others_do() {
    let world = World::with(ServerInfo {
        privileged_names: privileged(CertnamePrivilege::Program, "program.example.com"),
        ..ServerInfo::default()
    })
    .await;
    let site = Site::start(&world).await;
    for (certname, status) in [
        ("program.example.com", StatusCode::OK),
        ("other.example.com", StatusCode::UNAUTHORIZED),
    ] {
        let reply = site.get_as(certname, "/rbac-api/v1/users/current").await;
        assert_eq!(reply.0, status, "{certname}: {}", reply.1);
        if status == StatusCode::OK {
            assert_eq!(reply.1["login"], "api_user");
        }
    }
    site.end().await;
}

#[tokio::test]
async fn a13_passwords_and_tokens_are_in_no_file_of_the_server() {
    let world = World::new().await;
    let id = fred(&world).await["id"].as_str().unwrap().to_owned();
    let token = login(&world, "fred", "freds password").await.json()["token"].clone();
    let reset = ok(
        &world,
        "POST",
        &format!("users/{id}/password/reset"),
        Value::Null,
        200,
    )
    .await;
    world.state.access.shutdown().await;
    world.store.close().await;
    let secrets = [
        "freds password",
        token.as_str().unwrap(),
        reset.as_str().unwrap(),
    ];
    let mut read = 0;
    for entry in std::fs::read_dir(world.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            read += bytes.len();
            for secret in secrets {
                let has = bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!has, "{}", path.display());
            }
        }
    }
    assert!(read > 10_000, "the database was looked at");
}
