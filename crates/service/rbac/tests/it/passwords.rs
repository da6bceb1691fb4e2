//! Changes of the own password, and password resets.

use rbac::{AuthenticateError, LoginError, ManageError, MemberChange, PermissionGrant, UserEdit};
use secrecy::ExposeSecret as _;

use crate::world::{PASSWORD, World};

testkit::both!(
    ones_own_password_needs_the_present_one_and_ends_other_tokens,
    guessing_the_present_password_is_a_failed_login,
    a_reset_token_sets_a_password_once_and_reinstates_who_was_locked,
    two_uses_of_a_reset_token_at_once_set_one_password,
    a_reset_lets_nobody_in_who_was_revoked,
    a_reset_token_ends_when_its_user_gets_more_rights,
    a_password_reset_token_ends_with_its_creators_rights,
);

const NEW: &str = "another good password";

async fn ones_own_password_needs_the_present_one_and_ends_other_tokens() {
    let world = World::new().await;
    let old = world.password();
    let (first, second) = (
        world.login("admin", &old).await.unwrap(),
        world.login("admin", &old).await.unwrap(),
    );
    let admin = world.access.authenticate(&first).await.unwrap();
    world.access.authenticate(&second).await.unwrap();
    let change = async |current: &str, new: &str| {
        let (current, new) = (current.into(), new.into());
        let access = &world.access;
        access
            .change_own_password(&admin, current, new, Some(&first), None)
            .await
    };
    let wrong = change("wrong", NEW).await;
    assert!(matches!(wrong, Err(ManageError::CurrentPassword)));
    let short = change(&old, "short").await;
    assert!(matches!(short, Err(ManageError::Password(_))));
    assert!(world.access.authenticate(&second).await.is_ok());
    change(&old, NEW).await.unwrap();
    assert!(
        world.access.authenticate(&first).await.is_ok(),
        "the one in use stays"
    );
    let ended = world.access.authenticate(&second).await;
    assert!(matches!(ended, Err(AuthenticateError::Revoked)));
    assert!(matches!(
        world.login("admin", &old).await,
        Err(LoginError::Wrong)
    ));
    world.login("admin", NEW).await.unwrap();
}

async fn guessing_the_present_password_is_a_failed_login() {
    let world = World::new().await;
    world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    let fred = world.access.authenticate(&token).await.unwrap();
    let mut locked = false;
    for _ in 0..=rbac::defaults::FAILED_LOGINS {
        let access = &world.access;
        let guess = access.change_own_password(&fred, "guess".into(), NEW.into(), None, None);
        locked = matches!(guess.await, Err(ManageError::LockedOut { .. }));
    }
    assert!(locked);
}

async fn a_reset_token_sets_a_password_once_and_reinstates_who_was_locked() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    for n in 0..rbac::defaults::FAILED_LOGINS {
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, "fred", "wrong").await;
        failed.expect_err("a wrong password");
    }
    assert!(matches!(
        world.login_from("192.0.2.2", "fred", PASSWORD).await,
        Err(LoginError::Locked)
    ));
    let earlier = world.access.reset_token(&admin, &fred).await.unwrap();
    let reset = world.access.reset_token(&admin, &fred).await.unwrap();
    let set = async |token: &str, new: &str| world.access.reset_password(token, new.into()).await;
    for none in ["", "guess", earlier.expose_secret(), &token] {
        assert!(matches!(set(none, NEW).await, Err(ManageError::ResetToken)));
    }
    let short = set(reset.expose_secret(), "short").await;
    assert!(
        matches!(short, Err(ManageError::Password(_))),
        "not used up by a mistake"
    );
    set(reset.expose_secret(), NEW).await.unwrap();
    let again = set(reset.expose_secret(), "yet another password").await;
    assert!(matches!(again, Err(ManageError::ResetToken)));
    assert!(
        world.access.authenticate(&token).await.is_err(),
        "tokens ended"
    );
    world.login("fred", NEW).await.unwrap();
}

async fn two_uses_of_a_reset_token_at_once_set_one_password() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let reset = world.access.reset_token(&admin, &fred).await.unwrap();
    let both = ["the first password", "the second password"].map(|new| {
        let (access, reset) = (world.access.clone(), reset.clone());
        tokio::spawn(async move {
            access
                .reset_password(reset.expose_secret(), new.into())
                .await
                .is_ok()
        })
    });
    let mut good = 0;
    for attempt in both {
        good += u32::from(attempt.await.unwrap());
    }
    assert_eq!(good, 1);
}

async fn a_reset_lets_nobody_in_who_was_revoked() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let reset = world.access.reset_token(&admin, &fred).await.unwrap();
    world.access.set_revoked(&admin, &fred, true).await.unwrap();
    let set = world
        .access
        .reset_password(reset.expose_secret(), NEW.into());
    set.await.unwrap();
    assert!(matches!(
        world.login("fred", NEW).await,
        Err(LoginError::Revoked)
    ));
}

async fn a_reset_token_ends_when_its_user_gets_more_rights() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let reset = [("users", "reset_password", "*")];
    let (clerk, _) = world.with_rights("clerk", &reset).await;
    let fred = world.user("fred", &[]).await;
    let role = world.role("strong", &[("tasks", "run", "*")]).await;
    let update = async |role_ids: &[i64]| {
        let row = access.user(&fred).await.unwrap().row;
        let update = UserEdit {
            login: row.login,
            display_name: format!("{}x", row.display_name),
            email: row.email,
            role_ids: Some(role_ids.to_vec()),
            is_revoked: None,
        };
        access.update_user(&admin, &fred, update).await.unwrap();
    };
    let members = async |add_users: &[String], remove_users: &[String]| {
        let members = MemberChange {
            add_users: add_users.to_vec(),
            remove_users: remove_users.to_vec(),
            ..MemberChange::default()
        };
        access.change_members(&admin, role, members).await.unwrap();
    };
    let fresh = async || access.reset_token(&clerk, &fred).await.unwrap();
    let good = async |token: &secrecy::SecretString| {
        let login = access.reset_login(token.expose_secret()).await.unwrap();
        login.is_some()
    };
    let own = std::slice::from_ref(&fred);
    // A change that gives no permission leaves the token valid.
    let token = fresh().await;
    update(&[]).await;
    assert!(good(&token).await);
    update(&[role]).await;
    assert!(!good(&token).await, "a role by the user");
    assert!(access.reset_token(&clerk, &fred).await.is_err());
    members(&[], own).await;
    let token = fresh().await;
    members(own, &[]).await;
    assert!(!good(&token).await, "a role by its members");
    let used = access.reset_password(token.expose_secret(), NEW.into());
    assert!(matches!(used.await, Err(ManageError::ResetToken)));
    members(&[], own).await;
    let token = fresh().await;
    let added = [role];
    let change = access.change_user_roles(&admin, &fred, &added, &[]);
    change.await.unwrap();
    assert!(!good(&token).await, "a role that is added");
    members(&[], own).await;
    let weak = world.role("weak", &[]).await;
    update(&[weak]).await;
    let token = fresh().await;
    let add = vec![PermissionGrant::new("tasks", "run", "package")];
    let change = access.change_permissions(&admin, weak, add, &[]);
    change.await.unwrap();
    assert!(!good(&token).await, "a permission of his role");
}

async fn a_password_reset_token_ends_with_its_creators_rights() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let fred = world.user("fred", &[]).await;
    let good = async |token: &secrecy::SecretString| {
        let login = access.reset_login(token.expose_secret()).await.unwrap();
        login.is_some()
    };
    let rights = [
        ("users", "reset_password", "*"),
        ("nodes", "view_data", "*"),
    ];
    for loss in [
        "revoked",
        "deleted",
        "the permission",
        "the rights of the user",
    ] {
        let (clerk, _) = world.with_rights(&format!("clerk {loss}"), &rights).await;
        let role = clerk.role_ids[0];
        let token = access.reset_token(&clerk, &fred).await.unwrap();
        assert!(good(&token).await, "{loss}");
        match loss {
            "revoked" => access
                .set_revoked(&admin, &clerk.user_id, true)
                .await
                .unwrap(),
            "deleted" => access.delete_user(&admin, &clerk.user_id).await.unwrap(),
            "the permission" => {
                let gone = [PermissionGrant::new("users", "reset_password", "*")];
                access
                    .change_permissions(&admin, role, vec![], &gone)
                    .await
                    .unwrap();
            }
            _ => {
                let reads = world.role("reads", &[("nodes", "view_data", "*")]).await;
                let reads = [reads];
                let change = access.change_user_roles(&admin, &fred, &reads, &[]);
                change.await.unwrap();
                // More permissions for the user invalidate existing reset tokens, so this one is
                // created afterwards.
                let token = access.reset_token(&clerk, &fred).await.unwrap();
                assert!(good(&token).await);
                let gone = [PermissionGrant::new("nodes", "view_data", "*")];
                access
                    .change_permissions(&admin, role, vec![], &gone)
                    .await
                    .unwrap();
                assert!(!good(&token).await, "{loss}");
                let used = access.reset_password(token.expose_secret(), NEW.into());
                assert!(matches!(used.await, Err(ManageError::ResetToken)), "{loss}");
                continue;
            }
        }
        assert!(!good(&token).await, "{loss}");
        let used = access.reset_password(token.expose_secret(), NEW.into());
        assert!(matches!(used.await, Err(ManageError::ResetToken)), "{loss}");
        world.login("fred", PASSWORD).await.unwrap();
    }
}
