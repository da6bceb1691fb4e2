//! The routes of a real server over a real directory, set by its configuration and over the API.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::installation::{Installation, Programs};
use testkit::peers::Slapd;
use testkit::peers::slapd::{LOOKUP_DN, LOOKUP_PASSWORD};

use crate::world::slapd;

/// As docs/access.md has it.
fn configuration(slapd: &Slapd, directory: &std::path::Path) -> String {
    let password = directory.join("ldap-password");
    std::fs::write(&password, format!("{LOOKUP_PASSWORD}\n")).unwrap();
    let (password, ca) = (password.display(), slapd.ca_file());
    let (ca, port) = (ca.display(), slapd.tls_port());
    format!(
        "[directories]\nrecheck_s = 1\n[[directories.ldap]]\npassword_file = '{password}'\n\
         ca_file = '{ca}'\n[directories.ldap.settings]\nhostname = 'localhost'\nport = {port}\n\
         login = '{LOOKUP_DN}'\nbase_dn = 'dc=example,dc=test'\nuser_rdn = 'ou=people'\n\
         user_lookup_attr = 'uid'\ngroup_rdn = 'ou=groups'\ngroup_object_class = 'groupOfNames'\n\
         search_nested_groups = true\n"
    )
}

async fn ask(client: &Client, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let request = client.request(method, path).json(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

#[tokio::test]
async fn a_server_with_a_directory_takes_its_users_and_groups() {
    let Some(mut slapd) = slapd() else { return };
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let programs = Programs::beside(built.join("tutti")).unwrap();
    let files = tempfile::tempdir().unwrap();
    let extra = configuration(&slapd, files.path());
    let installation = Installation::new(programs, &extra).unwrap();
    let server = installation.server().start().await.unwrap();
    let admin = Client::login(&installation).await.unwrap();

    let test = |user: &str, group: &str| json!({"user": user, "group": group});
    let (_, listed) = ask(&admin, Method::GET, "/rbac-api/v2/ds", &Value::Null).await;
    let with_id = |mut body: Value| {
        body["id"] = listed[0]["id"].clone();
        body
    };
    let path = "/rbac-api/v1/command/ldap/test";
    let (status, told) = ask(&admin, Method::POST, path, &with_id(test("fred", "admins"))).await;
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["user"]["display_name"], "Fred Example");
    for (user, group, kind) in [
        ("nobody", "admins", "no-such-user-LDAP"),
        ("fred", "nothing", "no-such-group-LDAP"),
        ("twin", "admins", "non-unique-lookup-attr"),
    ] {
        let (status, told) = ask(&admin, Method::POST, path, &with_id(test(user, group))).await;
        assert_eq!(status, 422, "{told}");
        assert_eq!(told["kind"], format!("puppetlabs.rbac/{kind}"));
    }
    let fixed = json!({"id": listed[0]["id"]});
    let path = "/rbac-api/v1/command/ldap/delete";
    assert_eq!(ask(&admin, Method::POST, path, &fixed).await.0, 409);

    let groups = "/rbac-api/v1/groups";
    let unknown = json!({"login": "nothing", "role_ids": []});
    let (status, told) = ask(&admin, Method::POST, groups, &unknown).await;
    assert_eq!(
        (status, &told["kind"]),
        (422, &json!("puppetlabs.rbac/no-such-group-LDAP"))
    );
    let known = json!({"login": "admins", "role_ids": [2]});
    assert_eq!(ask(&admin, Method::POST, groups, &known).await.0, 201);

    let login = "/rbac-api/v1/auth/token";
    let fred = json!({"login": "fred", "password": "fred-password"});
    let (status, token) = ask(&admin, Method::POST, login, &fred).await;
    assert_eq!(status, 200, "{token}");
    let token = token["token"].as_str().unwrap().to_owned();
    let facts = json!({"token": token});
    let path = "/rbac-api/v2/auth/token/authenticate";
    let (status, user) = ask(&admin, Method::POST, path, &facts).await;
    assert_eq!((status, &user["role_ids"]), (200, &json!([2])), "{user}");
    assert_eq!(user["is_remote"], true);
    // Gone from the directory: the token ends.
    slapd
        .modify("dn: uid=fred,ou=people,dc=example,dc=test\nchangetype: delete\n")
        .unwrap();
    let ended = async {
        while ask(&admin, Method::POST, path, &facts).await.0 != 403 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), ended).await;
    waited.expect("the token should have ended");
    slapd.kill().await.unwrap();
    let gina = json!({"login": "gina", "password": "gina-password"});
    let (status, told) = ask(&admin, Method::POST, login, &gina).await;
    assert_eq!(
        (status, &told["kind"]),
        (503, &json!("puppetlabs.rbac/directory-unavailable"))
    );
    Client::login(&installation).await.unwrap();
    server.stop().await.unwrap();
}
