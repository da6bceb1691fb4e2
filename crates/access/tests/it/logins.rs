//! Logins that fail.

use access::LoginError;
use access::defaults::FAILED_LOGINS;
use store::UserChange;

use crate::world::World;

#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_look_the_same() {
    let world = World::new().await;
    let wrong = world.login("admin", "wrong").await.unwrap_err();
    let unknown = world.login("nobody", "wrong").await.unwrap_err();
    assert!(matches!(wrong, LoginError::Wrong));
    assert_eq!(wrong.to_string(), unknown.to_string());
    for login in ["", "admin\0", "ADMIN", "../admin", &"x".repeat(1_000_000)] {
        assert!(
            matches!(world.login(login, "x").await, Err(LoginError::Wrong)),
            "{login:.20}"
        );
    }
    let huge = "x".repeat(1_000_000);
    assert!(matches!(
        world.login("admin", &huge).await,
        Err(LoginError::Wrong)
    ));
}

#[tokio::test]
async fn failures_lock_known_and_unknown_logins_alike() {
    let world = World::new().await;
    for login in ["admin", "nobody"] {
        for _ in 0..FAILED_LOGINS {
            let failed = world.login(login, "wrong").await;
            assert!(matches!(failed, Err(LoginError::Wrong)), "{login}");
        }
        let locked = world.login(login, &world.password()).await;
        assert!(
            matches!(locked, Err(LoginError::LockedOut { .. })),
            "{login}"
        );
    }
}

#[tokio::test]
async fn an_attacker_locks_only_his_own_address_out() {
    let world = World::new().await;
    for _ in 0..=FAILED_LOGINS {
        let failed = world.login_from("198.51.100.7", "admin", "wrong").await;
        failed.expect_err("a wrong password");
    }
    let password = world.password();
    let attacker = world.login_from("198.51.100.7", "admin", &password).await;
    assert!(matches!(attacker, Err(LoginError::LockedOut { .. })));
    let admin = world.login_from("192.0.2.1", "admin", &password).await;
    admin.expect("the right password from elsewhere");
}

#[tokio::test]
async fn attempts_at_once_do_not_slip_through_the_lock() {
    let world = World::new().await;
    let attempts = (0..40).map(|_| {
        let access = world.access.clone();
        tokio::spawn(async move {
            access
                .login("admin", "wrong".into(), Default::default(), None, None)
                .await
        })
    });
    let mut checked = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        if matches!(attempt.await.unwrap(), Err(LoginError::Wrong)) {
            checked += 1;
        }
    }
    // Those that have a turn when the lock falls are checked as well.
    let most = FAILED_LOGINS as usize + access::defaults::PASSWORD_CHECKS - 1;
    assert!(
        (FAILED_LOGINS as usize..=most).contains(&checked),
        "{checked}"
    );
}

#[tokio::test]
async fn a_revoked_user_neither_logs_in_nor_uses_tokens() {
    let world = World::new().await;
    let token = world.login("admin", &world.password()).await.unwrap();
    let user = world.store.user_by_login("admin").await.unwrap().unwrap();
    let revoked = UserChange {
        is_revoked: Some(true),
        ..UserChange::default()
    };
    world.store.update_user(&user.id, revoked).await.unwrap();
    let login = world.login("admin", &world.password()).await;
    assert!(matches!(login, Err(LoginError::Revoked)));
    assert!(matches!(
        world.login("admin", "wrong").await,
        Err(LoginError::Wrong)
    ));
    let used = world.access.authenticate(&token).await;
    assert!(matches!(used, Err(access::AuthenticateError::UserRevoked)));
}
