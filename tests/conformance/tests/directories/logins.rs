//! Who gets in, and with which groups.

use external_directories::LdapError;
use rbac::LoginError;
use serde_json::json;

use crate::world::{World, secret, server, settings, slapd};

#[tokio::test]
async fn a_user_of_the_directory_logs_in_and_has_the_roles_of_his_groups() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let admins = world.import("admins").await;
    world.import("round").await;
    let token = world.login("fred", "fred-password").await.unwrap();
    let fred = world.who(&token).await;
    assert!(fred.is_remote && fred.role_ids.is_empty());
    let seen = (&*fred.login, &*fred.display_name, &*fred.email);
    assert_eq!(seen, ("fred", "Fred Example", "fred@example.test"));
    // By way of operators and night.
    assert_eq!(fred.group_ids, [admins]);
    assert_eq!(fred.inherited_role_ids, [2]);
    for password in ["wrong", "", "gina-password", "fred-password "] {
        let refused = world.login("fred", password).await;
        assert!(matches!(refused, Err(LoginError::Wrong)), "{password:?}");
    }
    let nobody = world.login("nobody", "x").await;
    assert!(matches!(nobody, Err(LoginError::Wrong)));
}

/// The server does not tell small letters from large ones; one person must not become several.
#[tokio::test]
async fn a_login_in_other_letters_is_the_same_user() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let small = world.login("fred", "fred-password").await.unwrap();
    let large = world.login("FRED", "fred-password").await.unwrap();
    let (small, large) = (world.who(&small).await, world.who(&large).await);
    assert_eq!((&small.user_id, &*large.login), (&large.user_id, "fred"));
}

#[tokio::test]
async fn escalation_a5_a_login_cannot_change_the_filter() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let logins = [
        "*",
        "f*",
        "fred)(uid=*",
        "fred)(|(uid=*",
        "*)(uid=gina",
        "fred)(&",
        "fred\0",
        "fred\\",
        "\\66red",
        "(uid=fred)",
        "fred\n",
        "fred,ou=people",
        "uid=fred,ou=people,dc=example,dc=test",
        "fred)(userPassword=fred-password",
        "\u{ff0a}",
        "\u{202e}fred",
    ];
    for login in logins {
        for password in ["fred-password", "gina-password"] {
            let refused = world.login(login, password).await;
            assert!(
                matches!(refused, Err(LoginError::Wrong)),
                "{login:?}: {refused:?}"
            );
        }
        let found = server(&slapd, json!({})).find_user(login).await.unwrap();
        assert_eq!(found, None, "{login:?}");
    }
    world.login("fred", "fred-password").await.unwrap();
}

#[tokio::test]
async fn two_entries_with_one_login_are_nobodys() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let refused = world.login("twin", "twin-password").await;
    assert!(matches!(refused, Err(LoginError::Wrong)));
    let twice = server(&slapd, json!({})).find_user("twin").await;
    assert!(
        matches!(twice, Err(LdapError::NotUnique { .. })),
        "{twice:?}"
    );
}

#[tokio::test]
async fn groups_are_found_by_member_by_member_of_and_by_uid() {
    let Some(slapd) = slapd() else { return };
    let dn = |name: &str| format!("cn={name},ou=groups,dc=example,dc=test");
    let groups = async |login: &'static str, more| {
        let user = server(&slapd, more).find_user(login).await.unwrap();
        user.unwrap().groups
    };
    let names = |names: &[&str]| {
        let mut all: Vec<String> = names.iter().map(|name| dn(name)).collect();
        all.extend(names.iter().map(|&name| name.to_owned()));
        all.sort_unstable();
        all
    };
    let nested = names(&["admins", "night", "operators"]);
    assert_eq!(groups("fred", json!({})).await, nested);
    let member_of = json!({"user_member_of_attr": "memberOf"});
    assert_eq!(groups("fred", member_of.clone()).await, nested);
    let flat = json!({"search_nested_groups": false});
    assert_eq!(groups("fred", flat).await, names(&["night"]));
    let posix = json!({"group_object_class": "posixGroup", "group_member_attr": "memberUid"});
    assert_eq!(groups("fred", posix).await, names(&["posix"]));
    // A circle ends, and a group outside of the base, whatever its name is, does not count.
    let circle = names(&["about", "round"]);
    assert_eq!(groups("gina", json!({})).await, circle);
    assert_eq!(groups("gina", member_of).await, circle);
    let server = server(&slapd, json!({}));
    for (name, there) in [
        ("admins", true),
        (&dn("admins"), true),
        ("a*", false),
        ("none", false),
    ] {
        assert_eq!(server.has_group(name).await.unwrap(), there, "{name}");
    }
    let outside = "cn=night,ou=people,dc=example,dc=test";
    assert!(!server.has_group(outside).await.unwrap());
}

#[tokio::test]
async fn tls_and_start_tls_check_the_server() {
    let Some(slapd) = slapd() else { return };
    let password = secret("fred-password");
    let start_tls = json!({"ssl": false, "start_tls": true, "port": slapd.plain_port()});
    let plain = json!({"ssl": false, "port": slapd.plain_port()});
    for more in [start_tls.clone(), plain] {
        let user = server(&slapd, more).authenticate("fred", &password).await;
        assert_eq!(user.unwrap().unwrap().login, "fred");
    }
    // Another CA, and another name than the certificate's.
    let other = slapd_ca();
    let wrong = [
        json!({"ca_certificates": other}),
        json!({"hostname": "127.0.0.1"}),
        json!({"ssl": false, "start_tls": true, "port": slapd.plain_port(),
               "ca_certificates": other}),
    ];
    for more in wrong {
        let refused = server(&slapd, more).test().await;
        assert!(
            matches!(refused, Err(LdapError::Connect { .. })),
            "{refused:?}"
        );
    }
    server(&slapd, start_tls).test().await.unwrap();
}

/// The certificate of a CA that nobody here is signed by.
fn slapd_ca() -> String {
    use pki::CertificateAuthority;
    let home = tempfile::tempdir().unwrap();
    let options = pki::ca::InitOptions {
        common_name: "another CA".to_owned(),
        key_type: pki::KeyType::EcP256,
    };
    CertificateAuthority::init(&home.path().join("ca"), &options).unwrap();
    std::fs::read_to_string(home.path().join("ca/ca_crt.pem")).unwrap()
}

#[tokio::test]
async fn what_is_wrong_with_the_settings_is_told() {
    let Some(slapd) = slapd() else { return };
    let told = async |more| server(&slapd, more).test().await.unwrap_err().to_string();
    let password = told(json!({"password": "wrong"})).await;
    assert!(password.contains("looking users up"), "{password}");
    let base = told(json!({"base_dn": "dc=nowhere"})).await;
    assert!(base.contains("dc=nowhere"), "{base}");
    let groups = told(json!({"group_rdn": "ou=nothing"})).await;
    assert!(groups.contains("ou=nothing"), "{groups}");
    let anonymous = told(json!({"login": null, "password": null})).await;
    assert!(
        anonymous.contains("refuses to search") || anonymous.contains("does not take"),
        "{anonymous}"
    );
    assert!(!password.contains("wrong\""));
}
