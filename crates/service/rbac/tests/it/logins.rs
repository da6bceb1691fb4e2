//! Failed logins, and the locks that follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rbac::defaults::{FAILED_LOGINS, LOCK_OUT, USER_LOCK};
use rbac::{AuthSettings, AuthenticateError, LoginError, UserEdit};
use store::Clock;
use tokio::task::JoinSet;

use crate::world::{PASSWORD, World};

testkit::both!(
    a_wrong_password_and_an_unknown_user_look_the_same,
    failures_lock_known_and_unknown_logins_alike,
    an_attacker_locks_only_his_own_address_out,
    attempts_at_once_do_not_slip_through_the_lock,
    a_revoked_user_neither_logs_in_nor_uses_tokens,
    ten_failures_lock_a_user_until_he_is_reinstated,
    a_lock_of_a_user_ends_by_itself_and_failures_do_not_extend_it,
    locks_last_by_a_clock_that_is_never_set,
    a_network_from_which_a_user_logged_in_is_not_locked_by_failures_elsewhere,
    spellings_do_not_tell_whether_a_user_exists,
    one_address_with_invented_names_does_not_keep_others_out,
    a_right_password_wipes_the_slate,
    nobody_locks_the_administrator_out,
    a_program_without_a_password_cannot_log_in,
    a_user_is_revoked_and_reinstated_by_writing_him_too,
);

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

async fn attempts_at_once_do_not_slip_through_the_lock() {
    let world = World::new().await;
    let attempts = (0..rbac::defaults::PASSWORD_QUEUE_PER_SOURCE).map(|_| {
        let access = world.access.clone();
        tokio::spawn(async move {
            access
                .login("admin", "wrong".into(), Default::default(), None)
                .await
        })
    });
    let mut checked = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        if matches!(attempt.await.unwrap(), Err(LoginError::Wrong)) {
            checked += 1;
        }
    }
    // Attempts that have a turn when the lock begins are checked as well.
    let most = FAILED_LOGINS as usize + rbac::defaults::PASSWORD_CHECKS - 1;
    assert!(
        (FAILED_LOGINS as usize..=most).contains(&checked),
        "{checked}"
    );
}

async fn a_revoked_user_neither_logs_in_nor_uses_tokens() {
    let world = World::new().await;
    let admin = world.admin().await;
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    world.access.authenticate(&token).await.unwrap();
    world.access.set_revoked(&admin, &fred, true).await.unwrap();
    let used = world.access.authenticate(&token).await;
    assert!(matches!(used, Err(AuthenticateError::Revoked)));
    let login = world.login("fred", PASSWORD).await;
    assert!(matches!(login, Err(LoginError::Revoked)));
    assert!(matches!(
        world.login("fred", "wrong").await,
        Err(LoginError::Wrong)
    ));
    world
        .access
        .set_revoked(&admin, &fred, false)
        .await
        .unwrap();
    let used = world.access.authenticate(&token).await;
    assert!(
        matches!(used, Err(AuthenticateError::Revoked)),
        "a token that was revoked stays so"
    );
    world.login("fred", PASSWORD).await.unwrap();
}

async fn ten_failures_lock_a_user_until_he_is_reinstated() {
    let mut world = World::new().await;
    let admin = world.admin().await;
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    for n in 0..FAILED_LOGINS {
        // From different addresses, so that no address is locked.
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, "fred", "wrong").await;
        assert!(matches!(failed, Err(LoginError::Wrong)));
    }
    let wrong = world.login("fred", "wrong").await.unwrap_err();
    let unknown = world.login("nobody", "wrong").await.unwrap_err();
    assert_eq!(
        wrong.to_string(),
        unknown.to_string(),
        "only the owner is told"
    );
    world.reopen().await;
    let locked = world.login("fred", PASSWORD).await;
    assert!(matches!(locked, Err(LoginError::Locked)), "{locked:?}");
    assert!(world.access.user(&fred).await.unwrap().is_locked);
    assert!(
        world.access.authenticate(&token).await.is_ok(),
        "who is logged in works on: others cannot throw him out"
    );
    world
        .access
        .set_revoked(&admin, &fred, false)
        .await
        .unwrap();
    world.login("fred", PASSWORD).await.unwrap();
}

/// Fails to log in as `login` from so many addresses that the user is locked, but no address.
async fn fail_from_everywhere(world: &World, login: &str) {
    for n in 0..FAILED_LOGINS {
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, login, "wrong").await;
        assert!(matches!(failed, Err(LoginError::Wrong)));
    }
}

/// Anonymous failures do not lock a user out permanently.
async fn a_lock_of_a_user_ends_by_itself_and_failures_do_not_extend_it() {
    let settings = AuthSettings {
        user_lock: Duration::ZERO,
        ..AuthSettings::default()
    };
    let world = World::with(settings).await;
    let fred = world.user("fred", &[]).await;
    fail_from_everywhere(&world, "fred").await;
    world
        .login_from("192.0.2.99", "fred", PASSWORD)
        .await
        .unwrap();
    assert!(!world.access.user(&fred).await.unwrap().is_locked);

    // During a lock, failures are not counted, so they do not extend it.
    let world = World::new().await;
    let fred = world.user("fred", &[]).await;
    fail_from_everywhere(&world, "fred").await;
    let failed = world.login_from("192.0.2.98", "fred", "wrong").await;
    assert!(matches!(failed, Err(LoginError::Wrong)));
    let row = world.access.user(&fred).await.unwrap().row;
    assert_eq!(row.failed_logins, i64::from(FAILED_LOGINS));
    let locked = world.login_from("192.0.2.99", "fred", PASSWORD).await;
    assert!(matches!(locked, Err(LoginError::Locked)), "{locked:?}");
}

/// A steady clock that the test advances; the time of day does not advance with it, as if it was
/// set back.
#[derive(Debug, Default)]
struct HandClock(AtomicU64);

impl HandClock {
    fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        store::now_ms()
    }

    fn steady_ms(&self) -> i64 {
        1_000 * i64::try_from(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

async fn locks_last_by_a_clock_that_is_never_set() {
    let clock = Arc::new(HandClock::default());
    let settings = AuthSettings {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..AuthSettings::default()
    };
    let world = World::with(settings).await;
    world.user("fred", &[]).await;
    let locked = || world.login("fred", PASSWORD);
    fail_from_everywhere(&world, "fred").await;
    assert!(matches!(locked().await, Err(LoginError::Locked)));
    clock.pass(USER_LOCK - Duration::from_secs(1));
    assert!(matches!(locked().await, Err(LoginError::Locked)));
    clock.pass(Duration::from_secs(1));
    locked().await.unwrap();

    for _ in 0..FAILED_LOGINS {
        drop(world.login("nobody", "wrong").await);
    }
    let told = world.login("nobody", "wrong").await;
    assert!(matches!(told, Err(LoginError::LockedOut { wait }) if wait == LOCK_OUT));
    clock.pass(LOCK_OUT);
    let told = world.login("nobody", "wrong").await;
    assert!(matches!(told, Err(LoginError::Wrong)), "{told:?}");
}

async fn a_network_from_which_a_user_logged_in_is_not_locked_by_failures_elsewhere() {
    let world = World::new().await;
    world.user("fred", &[]).await;
    world.login("fred", PASSWORD).await.unwrap();
    fail_from_everywhere(&world, "fred").await;
    world.login("fred", PASSWORD).await.unwrap();
}

/// Exact and folded spellings are counted alike, for existing and unknown users.
async fn spellings_do_not_tell_whether_a_user_exists() {
    let world = World::new().await;
    world.user("fred", &[]).await;
    let attempts = async |exact: &str, folded: &str| {
        let mut answers = Vec::new();
        for n in 0..=FAILED_LOGINS {
            let login = if n % 2 == 0 { exact } else { folded };
            let failed = world.login(login, "wrong").await.unwrap_err();
            answers.push(std::mem::discriminant(&failed));
        }
        answers
    };
    let existing = attempts("fred", "FRED").await;
    let invented = attempts("dref", "DREF").await;
    assert_eq!(existing, invented);
    let locked = world.login("FRED", "wrong").await;
    assert!(matches!(locked, Err(LoginError::LockedOut { .. })));
}

/// Sends more attempts than one address may have waiting.
async fn one_address_with_invented_names_does_not_keep_others_out() {
    let world = World::new().await;
    let mut flood = JoinSet::new();
    for n in 0..200 {
        let access = world.access.clone();
        flood.spawn(async move {
            let address = "198.51.100.7".parse().ok();
            let login = format!("invented{n}");
            let attempt = access.login(&login, "wrong".into(), Default::default(), address);
            attempt.await.map(|_| ())
        });
    }
    // The flood has arrived: some of its attempts are refused because the queue is full.
    let refused = flood.join_next().await.unwrap().unwrap();
    assert!(matches!(refused, Err(LoginError::Hash(_))), "{refused:?}");
    world.login("admin", &world.password()).await.unwrap();
}

async fn a_right_password_wipes_the_slate() {
    let world = World::new().await;
    world.user("fred", &[]).await;
    for n in 0..FAILED_LOGINS * 2 {
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, "fred", "wrong").await;
        failed.expect_err("a wrong password");
        if n % 5 == 4 {
            world.login("fred", PASSWORD).await.unwrap();
        }
    }
    assert!(world.login("fred", PASSWORD).await.is_ok());
}

async fn nobody_locks_the_administrator_out() {
    let world = World::new().await;
    for n in 0..FAILED_LOGINS * 2 {
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, "admin", "wrong").await;
        failed.expect_err("a wrong password");
    }
    world.login("admin", &world.password()).await.unwrap();
}

async fn a_program_without_a_password_cannot_log_in() {
    let world = World::new().await;
    for password in ["", "api_user", "password"] {
        let refused = world.login("api_user", password).await;
        assert!(matches!(refused, Err(LoginError::Wrong)), "{password}");
    }
}

/// The values that a client reads and writes back.
async fn shown(world: &World, id: &str) -> UserEdit {
    let view = world.access.user(id).await.unwrap();
    UserEdit {
        login: view.row.login,
        display_name: view.row.display_name,
        email: view.row.email,
        role_ids: Some(view.role_ids),
        is_revoked: Some(view.row.is_revoked || view.is_locked),
    }
}

async fn a_user_is_revoked_and_reinstated_by_writing_him_too() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    world.access.authenticate(&token).await.unwrap();
    let write = async |is_revoked: Option<bool>| {
        let mut update = shown(&world, &fred).await;
        update.is_revoked = is_revoked.or(update.is_revoked);
        world
            .access
            .update_user(&admin, &fred, update)
            .await
            .unwrap();
    };
    write(None).await;
    world.access.authenticate(&token).await.unwrap();
    write(Some(true)).await;
    let used = world.access.authenticate(&token).await;
    assert!(matches!(used, Err(AuthenticateError::Revoked)));
    write(Some(false)).await;
    let used = world.access.authenticate(&token).await;
    assert!(used.is_err(), "a token that ended stays so: {used:?}");
    for n in 0..FAILED_LOGINS {
        let address = format!("198.51.100.{n}");
        let failed = world.login_from(&address, "fred", "wrong").await;
        failed.expect_err("a wrong password");
    }
    // A locked user who is read and written back stays locked, and is not revoked.
    write(None).await;
    let view = world.access.user(&fred).await.unwrap();
    assert!(view.is_locked && !view.row.is_revoked);
    write(Some(false)).await;
    let view = world.access.user(&fred).await.unwrap();
    assert!(!view.is_locked && !view.row.is_revoked);
    world.login("fred", PASSWORD).await.unwrap();
}

/// The database fails after the first of two writes, as a crash between them does.
#[tokio::test]
async fn a_revocation_that_broke_off_is_completed_when_it_is_asked_again() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    let file = world.database.url().strip_prefix("sqlite:").unwrap();
    let database = rusqlite::Connection::open(file).unwrap();
    database.busy_timeout(Duration::from_secs(30)).unwrap();
    let write = async |is_revoked: bool| {
        let mut update = shown(&world, &fred).await;
        update.is_revoked = Some(is_revoked);
        world.access.update_user(&admin, &fred, update).await
    };
    for table in ["tokens", "users"] {
        let trigger = format!(
            "CREATE TRIGGER refuse BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END"
        );
        database.execute_batch(&trigger).unwrap();
        write(true).await.unwrap_err();
        database.execute_batch("DROP TRIGGER refuse").unwrap();
    }
    write(true).await.unwrap();
    write(false).await.unwrap();
    let used = world.access.authenticate(&token).await;
    assert!(used.is_err(), "the token stays revoked: {used:?}");
}
