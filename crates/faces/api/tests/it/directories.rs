//! Directories and the identity provider over the API, while none is reachable. Behaviour with a
//! real directory is tested in `tests/conformance`.

use api_types::Route;
use api_types::rbac::LdapSettings;
use rbac::{GroupSpec, PermissionGrant, RoleSpec, UserSpec};
use serde_json::{Value, json};

use crate::world::World;

/// No program listens on port 1.
fn settings() -> Value {
    json!({"hostname": "localhost", "port": 1, "base_dn": "dc=example", "user_lookup_attr": "uid",
           "login": "cn=lookup", "password": "sesame"})
}

/// Path and body of a valid request; `None` if the route is not in this file.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let (path, body) = match route.operation_id {
        "ds" => ("/rbac-api/v1/ds", Value::Null),
        "ds_put" => ("/rbac-api/v1/ds", json!({})),
        "ds_test" => ("/rbac-api/v1/ds/test?made=<directory>", Value::Null),
        "ds_test_put" => ("/rbac-api/v1/ds/test", settings()),
        "ds_v2" => ("/rbac-api/v2/ds", Value::Null),
        "ldap" => ("/rbac-api/v2/ldap", Value::Null),
        "ldap_one" => ("/rbac-api/v2/ldap/<directory>", Value::Null),
        "ldap_create" => ("/rbac-api/v1/command/ldap/create", settings()),
        "ldap_update" => {
            let mut settings = settings();
            settings["id"] = json!("<directory>");
            ("/rbac-api/v1/command/ldap/update", settings)
        }
        "ldap_delete" => (
            "/rbac-api/v1/command/ldap/delete",
            json!({"id": "<directory>"}),
        ),
        "ldap_test" => (
            "/rbac-api/v1/command/ldap/test",
            json!({"id": "<directory>"}),
        ),
        "oidc_start" => (
            "/rbac-api/v1/auth/oidc/start",
            json!({"redirect_uri": "http://127.0.0.1:49152/callback"}),
        ),
        "oidc_finish" => (
            "/rbac-api/v1/auth/oidc/finish",
            json!({"state": "x", "handle": "x", "code": "x"}),
        ),
        "oidc_login" => ("/rbac-api/v1/auth/oidc/login", Value::Null),
        "oidc_callback" => (
            "/rbac-api/v1/auth/oidc/callback?code=x&state=x",
            Value::Null,
        ),
        _ => return None,
    };
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    Some((path, body))
}

/// The status of a valid request while the directory is down and there is no provider; `None` for
/// other routes.
pub(crate) fn opened(route: &Route) -> Option<u16> {
    let is_test = ["ds_test", "ds_test_put", "ldap_test"].contains(&route.operation_id);
    (is_test || route.operation_id.starts_with("oidc_")).then_some(400)
}

/// Replaces `<directory>` by the id of a new directory, and deletes all others.
pub(crate) async fn filled(world: &World, path: String, body: String) -> (String, String) {
    let directories = &world.state.external_directories.directories;
    for one in directories.list() {
        directories.delete(&one.id.unwrap()).await.unwrap();
    }
    if !path.contains("<directory>") && !body.contains("<directory>") {
        return (path, body);
    }
    let settings: LdapSettings = serde_json::from_value(settings()).unwrap();
    let id = directories.create(settings).await.unwrap();
    let put = |text: String| text.replace("<directory>", &id);
    (put(path), put(body))
}

#[tokio::test]
async fn a_directory_is_set_shown_without_its_password_and_taken_away() {
    let world = World::new().await;
    let ask = async |method: &str, path: &str, body: Value| {
        let path = format!("/rbac-api/{path}");
        world
            .send(world.request(method, &path, body.to_string()))
            .await
    };
    let empty = ask("GET", "v1/ds", Value::Null).await;
    assert_eq!((empty.status.as_u16(), empty.json()), (200, json!({})));
    let set = ask("PUT", "v1/ds", settings()).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let id = set.json()["id"].as_str().unwrap().to_owned();
    for path in ["v1/ds", "v2/ds", "v2/ldap", &format!("v2/ldap/{id}")] {
        let shown = ask("GET", path, Value::Null).await;
        assert!(shown.text().contains("dc=example"), "{path}");
        assert!(!shown.text().contains("sesame"), "{path}");
    }
    let tested = ask("GET", "v1/ds/test", Value::Null).await;
    assert_eq!(tested.status, 400);
    let words = tested.json()["error"].as_str().unwrap().to_owned();
    assert!(words.contains("cannot be reached"), "{words}");
    assert!(tested.json()["elapsed"].is_u64());
    // The directory cannot be searched for the group, which is optional.
    let group = json!({"login": "staff", "role_ids": []});
    let asked = ask("POST", "v2/groups", group).await;
    assert_eq!(asked.kind(), "puppetlabs.rbac/directory-unavailable");
    let unasked = json!({"login": "staff", "role_ids": [], "validate": false});
    assert_eq!(ask("POST", "v2/groups", unasked).await.status, 201);
    let second = ask("POST", "v1/command/ldap/create", settings()).await;
    assert_eq!(second.status, 201);
    let which = ask("PUT", "v1/ds", settings()).await;
    assert_eq!(which.kind(), "puppetlabs.rbac/conflict");
    for id in [id.as_str(), second.json()["id"].as_str().unwrap()] {
        let body = json!({"id": id});
        let gone = ask("POST", "v1/command/ldap/delete", body.clone()).await;
        assert_eq!(gone.status, 204);
        let again = ask("POST", "v1/command/ldap/delete", body).await;
        assert_eq!(again.kind(), "puppetlabs.rbac/not-found");
    }
}

/// The first attack of the class "a permission that makes an administrator": change a directory to
/// a server of the attacker, and log in as a member of an imported group.
#[tokio::test]
async fn directory_service_edit_alone_makes_no_administrator() {
    let mut world = World::new().await;
    let access = world.state.access.clone();
    let admin = access.api_user();
    let id = world
        .state
        .external_directories
        .directories
        .create(serde_json::from_value(settings()).unwrap());
    let id = id.await.unwrap();
    let group = GroupSpec {
        login: "admins".to_owned(),
        origin: Some(external_directories::ldap_origin(&id)),
        role_ids: vec![1],
        ..GroupSpec::default()
    };
    access.create_group(&admin, group).await.unwrap();
    let role = RoleSpec {
        display_name: "directories".to_owned(),
        permissions: vec![PermissionGrant::new("directory_service", "edit", "*")],
        ..RoleSpec::default()
    };
    let role = access.create_role(&admin, role).await.unwrap();
    let editor = UserSpec {
        login: "editor".to_owned(),
        display_name: "Editor".to_owned(),
        password: Some("a password of the editor".into()),
        role_ids: vec![role],
        ..UserSpec::default()
    };
    access.create_user(&admin, editor).await.unwrap();
    let login = json!({"login": "editor", "password": "a password of the editor"});
    let reply = world
        .post("/rbac-api/v1/auth/token", login.to_string())
        .await;
    world.token = reply.json()["token"].as_str().unwrap().to_owned();
    let before = world.state.external_directories.directories.list();
    let mut rogue = settings();
    rogue["port"] = json!(2);
    let mut update = rogue.clone();
    update["id"] = json!(id);
    for (method, path, body) in [
        ("PUT", "v1/ds", rogue.clone()),
        ("PUT", "v1/ds", json!({})),
        ("POST", "v1/command/ldap/create", rogue),
        ("POST", "v1/command/ldap/update", update),
        ("POST", "v1/command/ldap/delete", json!({"id": id})),
    ] {
        let path = format!("/rbac-api/{path}");
        let refused = world
            .send(world.request(method, &path, body.to_string()))
            .await;
        assert_eq!(refused.status, 403, "{method} {path}: {}", refused.text());
        assert_eq!(refused.kind(), "puppetlabs.rbac/permission-denied");
    }
    assert_eq!(world.state.external_directories.directories.list(), before);
    // Viewing and testing stay permitted.
    let shown = world.get("/rbac-api/v2/ds").await;
    assert_eq!(shown.status, 200);
}

#[tokio::test]
async fn a_group_is_bound_to_the_directory_that_is_named() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let one = serde_json::from_value(settings()).unwrap();
        ids.push(
            world
                .state
                .external_directories
                .directories
                .create(one)
                .await
                .unwrap(),
        );
    }
    let import = async |body: Value| world.post("/rbac-api/v2/groups", body.to_string()).await;
    let group = json!({"login": "staff", "role_ids": [], "validate": false});
    let which = import(group.clone()).await;
    assert_eq!(which.kind(), "puppetlabs.rbac/schema-violation");
    assert_eq!(which.json()["details"]["path"], "identity_provider_id");
    let mut named = group.clone();
    named["identity_provider_id"] = json!(ids[1]);
    let made = import(named.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["identity_provider_id"], json!(ids[1]));
    named["login"] = json!("others");
    named["identity_provider_id"] = json!("0e6d1f9c-1111-4222-8333-444455556666");
    let unknown = import(named).await;
    assert_eq!(unknown.kind(), "puppetlabs.rbac/schema-violation");
    let mut moved = made.json();
    moved["identity_provider_id"] = json!(ids[0]);
    let path = format!("/rbac-api/v1/groups/{}", moved["id"].as_str().unwrap());
    let moved = world
        .send(world.request("PUT", &path, moved.to_string()))
        .await;
    assert_eq!(moved.json()["identity_provider_id"], json!(ids[0]));
}

#[tokio::test]
async fn settings_that_cannot_be_are_named() {
    let world = World::new().await;
    for (key, value) in [
        ("ssl", json!(false)),
        ("hostname", json!("ldap://x")),
        ("user_lookup_attr", json!("uid)(x=*")),
        ("ca_certificates", json!("x")),
        ("id", json!("x")),
    ] {
        let mut body = settings();
        body["hostname"] = json!("ldap.example");
        body[key] = value;
        let path = "/rbac-api/v1/command/ldap/create";
        let reply = world.post(path, body.to_string()).await;
        assert_eq!(reply.kind(), "puppetlabs.rbac/schema-violation", "{key}");
        assert_eq!(reply.json()["details"]["path"], key);
        assert!(!reply.text().contains("sesame"));
    }
    let mut unknown = settings();
    unknown["sll"] = json!(true);
    let reply = world.send(world.request("PUT", "/rbac-api/v1/ds", unknown.to_string()));
    let reply = reply.await;
    assert_eq!(reply.kind(), "puppetlabs.rbac/schema-violation");
    assert_eq!(reply.json()["details"]["path"], "sll");
}
