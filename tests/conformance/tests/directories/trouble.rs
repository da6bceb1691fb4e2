//! Directories that are down, slow, or have changed their mind.

use std::time::{Duration, Instant};

use external_directories::RemoteUserCheck;
use rbac::{AuthenticateError, LoginError};
use serde_json::json;

use crate::world::{World, settings, slapd};

/// Awaits what the task that asks again brings about.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    waited.expect("it should have come about");
}

#[tokio::test]
async fn with_the_directory_down_local_users_log_in_and_others_are_told() {
    let Some(mut slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let token = world.login("fred", "fred-password").await.unwrap();
    slapd.kill().await.unwrap();
    let password = world.admin_password();
    world.login("admin", &password).await.unwrap();
    for login in ["fred", "stranger"] {
        let refused = world.login(login, "fred-password").await.unwrap_err();
        assert!(matches!(refused, LoginError::Directory(_)), "{refused:?}");
        let text = refused.to_string();
        assert!(
            text.contains("directory") && text.contains("only users of this server"),
            "{text}"
        );
    }
    // Whoever is in stays in.
    world.who(&token).await;
    slapd.resume().unwrap();
    world.login("fred", "fred-password").await.unwrap();
}

#[tokio::test]
async fn a_directory_that_says_nothing_holds_up_nobody_else() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({"connect_timeout": 1}))]).await;
    slapd.freeze().unwrap();
    let begun = Instant::now();
    let password = world.admin_password();
    let slow = world.login("fred", "fred-password");
    let quick = async {
        let admin = world.login("admin", &password).await;
        (admin, begun.elapsed())
    };
    let (slow, (quick, took)) = tokio::join!(slow, quick);
    assert!(matches!(slow, Err(LoginError::Directory(_))), "{slow:?}");
    quick.unwrap();
    assert!(
        took < Duration::from_secs(1) || took < begun.elapsed() / 2,
        "{took:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(25));
    slapd.thaw().unwrap();
}

#[tokio::test]
async fn the_second_host_and_the_second_directory_answer_for_the_first() {
    let (Some(mut first), Some(second)) = (slapd(), slapd()) else {
        return;
    };
    let dead = first.tls_port();
    first.kill().await.unwrap();
    // One directory whose first host is not there: `.invalid` never resolves.
    let hosts = json!({"hostname": "down.invalid localhost"});
    let world = World::with(vec![settings(&second, hosts)]).await;
    world.login("fred", "fred-password").await.unwrap();
    // Two directories, the first down.
    let down = settings(&second, json!({"port": dead}));
    let world = World::with(vec![down, settings(&second, json!({}))]).await;
    world.login("fred", "fred-password").await.unwrap();
    // Here the one that is down might know it.
    let refused = world.login("fred", "wrong").await;
    assert!(
        matches!(refused, Err(LoginError::Directory(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_tokens_of_a_user_who_is_removed_end() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(vec![settings(&slapd, json!({}))]).await;
    let group = world.import("night").await;
    let fred = world.login("fred", "fred-password").await.unwrap();
    let gina = world.login("gina", "gina-password").await.unwrap();
    assert_eq!(world.who(&fred).await.group_ids, [group]);
    let interval = Duration::from_millis(100);
    let recheck = RemoteUserCheck::start(world.access.clone(), world.directories.clone(), interval);
    // Out of the group: the roles go, the token stays.
    slapd
        .modify("dn: cn=night,ou=groups,dc=example,dc=test\nchangetype: modify\nreplace: member\nmember: uid=gina,ou=people,dc=example,dc=test\n")
        .unwrap();
    until(async || world.who(&fred).await.group_ids.is_empty()).await;
    until(async || world.who(&gina).await.group_ids.len() == 1).await;
    slapd
        .modify("dn: uid=fred,ou=people,dc=example,dc=test\nchangetype: delete\n")
        .unwrap();
    until(async || world.access.authenticate(&fred).await.is_err()).await;
    let ended = world.access.authenticate(&fred).await;
    assert!(
        matches!(ended, Err(AuthenticateError::Revoked)),
        "{ended:?}"
    );
    let refused = world.login("fred", "fred-password").await;
    assert!(matches!(refused, Err(LoginError::Wrong)));
    // Another person gets the login: he is not taken for the first.
    slapd
        .modify("dn: uid=fred,ou=people,dc=example,dc=test\nobjectClass: inetOrgPerson\nuid: fred\ncn: Another Fred\nsn: Fred\nuserPassword: fred-password\n")
        .unwrap();
    let other = world.login("fred", "fred-password").await;
    assert!(matches!(other, Err(LoginError::OtherPerson)), "{other:?}");
    world.who(&gina).await;
    recheck.shutdown().await;
}

#[tokio::test]
async fn a_directory_that_is_down_takes_nobodys_token_and_one_that_is_deleted_does() {
    let Some(mut slapd) = slapd() else { return };
    let world = World::with(Vec::new()).await;
    let id = world
        .directories
        .create(settings(&slapd, json!({})))
        .await
        .unwrap();
    let fred = world.login("fred", "fred-password").await.unwrap();
    slapd.kill().await.unwrap();
    let due = async || {
        let origin = format!("ldap:{id}");
        world
            .access
            .due_remote_users(&origin, Duration::ZERO, 10)
            .await
            .unwrap()
    };
    assert_eq!(due().await.len(), 1);
    let asked = world
        .directories
        .look_up(&due().await[0].origin.origin, "fred")
        .await;
    assert!(asked.is_err());
    let interval = Duration::from_millis(100);
    let recheck = RemoteUserCheck::start(world.access.clone(), world.directories.clone(), interval);
    until(async || !due().await.is_empty()).await;
    world.who(&fred).await;
    world.directories.delete(&id).await.unwrap();
    until(async || world.access.authenticate(&fred).await.is_err()).await;
    recheck.shutdown().await;
}

#[tokio::test]
async fn what_is_stored_is_sealed_and_comes_back() {
    let Some(slapd) = slapd() else { return };
    let world = World::with(Vec::new()).await;
    let id = world
        .directories
        .create(settings(&slapd, json!({})))
        .await
        .unwrap();
    let stored = world
        .store
        .access_setting("ldap_directories")
        .await
        .unwrap()
        .unwrap();
    assert!(!stored.contains("localhost") && !stored.contains("lookup"));
    let seal = pki::seal::SealKey::open_or_create(&world.home.path().join("seal.key")).unwrap();
    let again = external_directories::LdapDirectories::open(world.store.clone(), seal, Vec::new());
    let again = again.await.unwrap();
    assert_eq!(again.list().len(), 1);
    assert_eq!(again.list()[0].password, None);
    again.server(Some(&id)).unwrap().test().await.unwrap();
    // The stored password stays where it was meant to go.
    let without = |more| {
        let mut settings = settings(&slapd, more);
        settings.password = None;
        settings
    };
    again
        .update(&id, without(json!({"display_name": "New"})))
        .await
        .unwrap();
    again.server(Some(&id)).unwrap().test().await.unwrap();
    let elsewhere = again
        .update(&id, without(json!({"hostname": "evil.example"})))
        .await;
    assert!(elsewhere.unwrap_err().to_string().contains("password"));
    let other_key = tempfile::tempdir().unwrap();
    let key = pki::seal::SealKey::open_or_create(&other_key.path().join("seal.key")).unwrap();
    let opened = external_directories::LdapDirectories::open(world.store.clone(), key, Vec::new());
    assert!(opened.await.unwrap_err().to_string().contains("seal.key"));
}
