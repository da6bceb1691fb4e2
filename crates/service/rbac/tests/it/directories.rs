//! Users of external directories.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rbac::defaults::{FAILED_LOGINS, PASSWORD_CHECKS, PASSWORD_QUEUE_PER_SOURCE};
use rbac::{
    AuthSettings, DirectoryError, DirectoryReach, ExternalDirectory, GroupSpec, LoginError,
    ManageError, RemoteUser, RequestedPermission, TokenLifetime, TokenRequest, UserIdentity,
};
use secrecy::{ExposeSecret as _, SecretString};
use store::{NewSchedule, ScheduleEdit, ScheduleProgress};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::world::{PASSWORD, World};

testkit::both!(
    a_remote_user_has_the_roles_of_his_groups,
    groups_of_one_directory_take_no_users_of_another,
    a_change_of_a_directory_needs_every_right_of_its_groups_and_users,
    groups_from_before_are_bound_to_the_only_directory_once,
    local_users_log_in_while_the_directory_is_down_and_are_never_its_own,
    a_token_begets_none_that_outlives_it_whoever_its_user_is,
    other_spellings_of_a_remote_login_are_counted_as_one,
    guesses_at_once_do_not_slip_through_while_the_directory_thinks,
    right_passwords_of_a_slow_or_absent_directory_count_as_no_failures,
    a_directory_is_asked_about_users_who_have_schedules_and_marks_who_is_gone,
    logins_by_the_word_of_a_provider_are_counted_as_those_with_a_password_are,
);

/// A directory in which every user has the password `remote`.
#[derive(Debug, Default)]
struct Fake {
    down: AtomicBool,
    /// Number of queries.
    asked: AtomicUsize,
    /// If set, each query takes a permit before it is answered.
    slow: Option<Semaphore>,
}

#[async_trait]
impl ExternalDirectory for Fake {
    async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
        _: Option<&str>,
    ) -> Result<RemoteUser, DirectoryError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if let Some(slow) = &self.slow {
            let _ = slow.acquire().await.expect("open");
        }
        if self.down.load(Ordering::Relaxed) {
            return Err(DirectoryError::Unavailable("connection refused".to_owned()));
        }
        if password.expose_secret() != "remote" {
            return Err(DirectoryError::Refused);
        }
        Ok(RemoteUser {
            origin: "ldap:one".to_owned(),
            // As a directory that ignores case and spaces.
            login: login.trim().to_lowercase(),
            display_name: format!("Remote {login}"),
            email: String::new(),
            groups: vec!["staff".to_owned(), "not imported".to_owned()],
            ..RemoteUser::default()
        })
    }
}

async fn world() -> (World, Arc<Fake>) {
    with(Fake::default()).await
}

async fn with(fake: Fake) -> (World, Arc<Fake>) {
    let fake = Arc::new(fake);
    let settings = AuthSettings {
        directory: Some(Arc::clone(&fake) as Arc<dyn ExternalDirectory>),
        ..AuthSettings::default()
    };
    (World::with(settings).await, fake)
}

async fn a_remote_user_has_the_roles_of_his_groups() {
    let (world, _) = world().await;
    let admin = world.access.api_user();
    let role = world.role("runners", &[("tasks", "run", "*")]).await;
    let group = GroupSpec {
        login: "staff".to_owned(),
        origin: Some("ldap:one".to_owned()),
        role_ids: vec![role],
        ..GroupSpec::default()
    };
    let group = world.access.create_group(&admin, group).await.unwrap();
    let token = world.login("rita", "remote").await.unwrap();
    let rita = world.access.authenticate(&token).await.unwrap();
    assert!(rita.is_remote && rita.role_ids.is_empty());
    assert_eq!(
        (&rita.inherited_role_ids, &rita.group_ids),
        (&vec![role], &vec![group.clone()])
    );
    let run = RequestedPermission::on("tasks", "run", "package");
    assert!(world.access.authorize(&rita, run).is_ok());
    let reset = world.access.reset_token(&admin, &rita.user_id).await;
    assert!(matches!(reset, Err(ManageError::RemoteUser)));
    world.access.delete_group(&admin, &group).await.unwrap();
    let rita = world.access.authenticate(&token).await.unwrap();
    assert!(world.access.authorize(&rita, run).is_err());
    assert!(matches!(
        world.login("rita", "wrong").await,
        Err(LoginError::Wrong)
    ));
    world
        .access
        .set_revoked(&admin, &rita.user_id, true)
        .await
        .unwrap();
    assert!(matches!(
        world.login("rita", "remote").await,
        Err(LoginError::Revoked)
    ));
}

async fn groups_of_one_directory_take_no_users_of_another() {
    let (world, _) = world().await;
    let access = &world.access;
    let admin = access.api_user();
    let staff = |origin: &str| GroupSpec {
        login: "staff".to_owned(),
        origin: Some(origin.to_owned()),
        role_ids: vec![1],
        ..GroupSpec::default()
    };
    let group = access.create_group(&admin, staff("ldap:other")).await;
    let group = group.unwrap();
    let token = world.login("rita", "remote").await.unwrap();
    let rita = access.authenticate(&token).await.unwrap();
    assert_eq!(rita.group_ids, [""; 0], "the group is of another directory");
    assert!(
        access
            .authorize(&rita, RequestedPermission::any("users", "edit"))
            .is_err()
    );
    // If a group gets another directory, its members lose its roles at once, with their present
    // tokens.
    access
        .update_group(&admin, &group, staff("ldap:one"))
        .await
        .unwrap();
    let token = world.login("rita", "remote").await.unwrap();
    let rita = access.authenticate(&token).await.unwrap();
    assert_eq!(rita.group_ids, std::slice::from_ref(&group));
    access
        .update_group(&admin, &group, staff("ldap:other"))
        .await
        .unwrap();
    let rita = access.authenticate(&token).await.unwrap();
    assert_eq!(rita.group_ids, [""; 0]);
    // Binding a group to a directory needs the group's permissions.
    let import = [
        ("user_groups", "import", "*"),
        ("user_roles", "edit_members", "*"),
    ];
    let (clerk, _) = world.with_rights("clerk", &import).await;
    let bound = access.update_group(&clerk, &group, staff("ldap:one")).await;
    assert!(matches!(bound, Err(ManageError::Denied(_))), "{bound:?}");
}

async fn a_change_of_a_directory_needs_every_right_of_its_groups_and_users() {
    let (world, _) = world().await;
    let access = &world.access;
    let admin = access.api_user();
    let edit = ("directory_service", "edit", "*");
    let (editor, _) = world.with_rights("editor", &[edit]).await;
    let (nobody, _) = world.with_rights("nobody", &[("tasks", "run", "*")]).await;
    let may =
        async |by: &UserIdentity, reach| access.begin_directory_change(by, reach).await.is_ok();
    let (one, two) = ("ldap:one", "ldap:two");
    assert!(
        may(&editor, DirectoryReach::Every).await,
        "nobody is in a directory"
    );
    assert!(!may(&nobody, DirectoryReach::Every).await);
    let group = GroupSpec {
        login: "staff".to_owned(),
        origin: Some(one.to_owned()),
        role_ids: vec![1],
        ..GroupSpec::default()
    };
    let group = access.create_group(&admin, group).await.unwrap();
    assert!(!may(&editor, DirectoryReach::Every).await);
    assert!(!may(&editor, DirectoryReach::Origin(one)).await);
    assert!(may(&editor, DirectoryReach::Origin(two)).await);
    assert!(may(&admin, DirectoryReach::Every).await);
    access.delete_group(&admin, &group).await.unwrap();
    // The permissions of a remote user's own roles are needed, too.
    let role = world.role("runners", &[("tasks", "run", "*")]).await;
    world.login("rita", "remote").await.unwrap();
    assert!(may(&editor, DirectoryReach::Origin(one)).await);
    let rita = world.store.user_by_login("rita").await.unwrap().unwrap();
    let roles = [role];
    let given = access.change_user_roles(&admin, &rita.id, &roles, &[]);
    given.await.unwrap();
    assert!(!may(&editor, DirectoryReach::Origin(one)).await);
    assert!(may(&editor, DirectoryReach::Origin(two)).await);
    let (runner, _) = world
        .with_rights("runner", &[edit, ("tasks", "run", "*")])
        .await;
    assert!(may(&runner, DirectoryReach::Every).await);
}

async fn groups_from_before_are_bound_to_the_only_directory_once() {
    let (world, _) = world().await;
    let admin = world.access.api_user();
    let group = |login: &str| GroupSpec {
        login: login.to_owned(),
        ..GroupSpec::default()
    };
    let one = ["ldap:one".to_owned()];
    world.access.bind_groups(&one).await.unwrap();
    let staff = world.access.create_group(&admin, group("staff")).await;
    // A group that is imported without a directory has none until it is bound.
    world.access.bind_groups(&one).await.unwrap();
    let staff = world.access.group(&staff.unwrap()).await.unwrap();
    assert_eq!(staff.row.origin, "");
    let token = world.login("rita", "remote").await.unwrap();
    let rita = world.access.authenticate(&token).await.unwrap();
    assert_eq!(rita.group_ids, [""; 0]);
}

async fn local_users_log_in_while_the_directory_is_down_and_are_never_its_own() {
    let (world, fake) = world().await;
    world.user("fred", &[]).await;
    for login in ["fred", "admin", "api_user"] {
        let taken = world.login(login, "remote").await;
        assert!(
            matches!(taken, Err(LoginError::Wrong)),
            "{login}: {taken:?}"
        );
    }
    let taken = RemoteUser {
        login: "admin".to_owned(),
        ..RemoteUser::default()
    };
    let taken = world.access.login_remote(taken, Default::default()).await;
    assert!(matches!(taken, Err(LoginError::RemoteConflict)));
    fake.down.store(true, Ordering::Relaxed);
    world.login("fred", PASSWORD).await.unwrap();
    world.login("admin", &world.password()).await.unwrap();
    let remote = world.login("rita", "remote").await;
    assert!(matches!(remote, Err(LoginError::Directory(_))));
}

async fn a_token_begets_none_that_outlives_it_whoever_its_user_is() {
    let (world, _) = world().await;
    let ten_years = || TokenRequest {
        lifetime: TokenLifetime::parse("0").unwrap(),
        ..TokenRequest::default()
    };
    world.user("fred", &[]).await;
    for (login, password) in [("rita", "remote"), ("fred", PASSWORD)] {
        let token = world.login(login, password).await.unwrap();
        let by = world.access.authenticate(&token).await.unwrap();
        let first = world.access.session(&token, false).await.unwrap().token;
        let made = world.access.issue_for(&by, ten_years()).await.unwrap();
        let made = world.access.session(made.expose_secret(), false).await;
        let made = made.unwrap().token;
        assert!(made.expires_ms <= first.expires_ms, "{login}");
        assert!(made.expires_ms.is_some() && first.expires_ms.is_some());
    }
}

async fn other_spellings_of_a_remote_login_are_counted_as_one() {
    let (world, fake) = world().await;
    // Before the first login of the directory's user, and after it.
    for known in [false, true] {
        if known {
            world
                .login_from("192.0.2.9", "rita", "remote")
                .await
                .unwrap();
        }
        let address = if known { "192.0.2.2" } else { "192.0.2.1" };
        let asked = fake.asked.load(Ordering::Relaxed);
        for spelled in [" rita", "rita ", "rita\u{a0}", "\trita"] {
            let refused = world.login_from(address, spelled, "remote").await;
            assert!(matches!(refused, Err(LoginError::Wrong)), "{spelled:?}");
        }
        assert_eq!(fake.asked.load(Ordering::Relaxed), asked, "never asked");
        let mut wrong = 0;
        for n in 0..FAILED_LOGINS {
            let spelled = ["rita", "Rita", "RITA", "riTa"][n as usize % 4];
            let refused = world.login_from(address, spelled, "guess").await;
            wrong += u32::from(matches!(refused, Err(LoginError::Wrong)));
        }
        // The four attempts with spaces count as well, before and after the first login.
        assert_eq!(wrong, FAILED_LOGINS - 4, "known: {known}");
        let locked = world.login_from(address, "rItA", "remote").await;
        assert!(matches!(locked, Err(LoginError::LockedOut { .. })));
    }
    let rita = world.store.user_by_login("rita").await.unwrap().unwrap();
    assert_eq!(rita.failed_logins, i64::from(FAILED_LOGINS) - 4);
    for address in ["192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"] {
        let refused = world.login_from(address, "riTA", "guess").await;
        assert!(matches!(refused, Err(LoginError::Wrong)));
    }
    let locked = world.login_from("192.0.2.3", "RITA", "remote").await;
    assert!(matches!(locked, Err(LoginError::Locked)), "{locked:?}");
}

async fn guesses_at_once_do_not_slip_through_while_the_directory_thinks() {
    let slow = Fake {
        slow: Some(Semaphore::new(0)),
        ..Fake::default()
    };
    let (world, fake) = with(slow).await;
    let most = FAILED_LOGINS as usize + PASSWORD_CHECKS - 1;
    let all = PASSWORD_QUEUE_PER_SOURCE;
    let mut guesses = JoinSet::new();
    for _ in 0..all {
        let access = world.access.clone();
        guesses.spawn(async move {
            let guess = access.login("rita", "guess".into(), TokenRequest::default(), None);
            guess.await.map(|_| ())
        });
    }
    // The directory does not answer yet, so an attempt that has ended was refused by the lock.
    let mut locked = 0;
    let settled = async {
        while locked + fake.asked.load(Ordering::Relaxed) < all {
            while let Some(guess) = guesses.try_join_next() {
                let refused = guess.unwrap();
                assert!(matches!(refused, Err(LoginError::LockedOut { .. })));
                locked += 1;
            }
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), settled);
    in_time.await.expect("all are refused or wait");
    assert!(all - locked <= most, "{} were not locked", all - locked);
    fake.slow.as_ref().unwrap().add_permits(1);
    while let Some(guess) = guesses.join_next().await {
        assert!(matches!(guess.unwrap(), Err(LoginError::Wrong)));
    }
}

async fn right_passwords_of_a_slow_or_absent_directory_count_as_no_failures() {
    let (world, fake) = world().await;
    for _ in 0..FAILED_LOGINS * 2 {
        world.login("rita", "remote").await.unwrap();
    }
    fake.down.store(true, Ordering::Relaxed);
    for _ in 0..FAILED_LOGINS * 2 {
        let absent = world.login("rita", "remote").await;
        assert!(matches!(absent, Err(LoginError::Directory(_))));
        let absent = world.login("ron", "remote").await;
        assert!(matches!(absent, Err(LoginError::Directory(_))));
    }
    fake.down.store(false, Ordering::Relaxed);
    world.login("rita", "remote").await.unwrap();
    world.login("ron", "remote").await.unwrap();
}

/// An enabled schedule of the user.
fn schedule(owner_id: &str) -> NewSchedule {
    NewSchedule {
        request_id: "one".to_owned(),
        kind: "task".to_owned(),
        owner: "rita".to_owned(),
        owner_id: owner_id.to_owned(),
        created_ms: 0,
        edit: ScheduleEdit {
            name: "test".to_owned(),
            environment: String::new(),
            description: String::new(),
            userdata: "{}".to_owned(),
            input: "{}".to_owned(),
            sensitive: "[]".to_owned(),
            sealed: None,
            timetable: "{}".to_owned(),
            advance: ScheduleProgress::default(),
        },
    }
}

async fn a_directory_is_asked_about_users_who_have_schedules_and_marks_who_is_gone() {
    let (world, _) = world().await;
    let (access, store) = (&world.access, &world.store);
    let rita = || RemoteUser {
        origin: "ldap:one".to_owned(),
        subject: "rita's own".to_owned(),
        login: "rita".to_owned(),
        ..RemoteUser::default()
    };
    access
        .login_remote(rita(), Default::default())
        .await
        .unwrap();
    let id = store.user_by_login("rita").await.unwrap().unwrap().id;
    let due = async || {
        let due = access.due_remote_users("ldap:one", Duration::ZERO, 10);
        due.await.unwrap()
    };
    store.revoke_tokens_of(&id, None, 0).await.unwrap();
    assert_eq!(due().await, [], "nothing of hers to end");
    let number = store.insert_schedule(schedule(&id)).await.unwrap();
    let asked = due().await;
    assert_eq!(asked.len(), 1);
    assert!(!access.is_remote_user_gone(&id).await.unwrap());
    access.revoke_remote_user(&asked[0]).await.unwrap();
    assert!(access.is_remote_user_gone(&id).await.unwrap());
    assert_eq!(due().await, asked, "she may come back");
    let stays = access.confirm_remote_user(&asked[0], rita());
    Box::pin(stays).await.unwrap();
    assert!(
        !access.is_remote_user_gone(&id).await.unwrap(),
        "known again"
    );
    access.revoke_remote_user(&asked[0]).await.unwrap();
    access
        .login_remote(rita(), Default::default())
        .await
        .unwrap();
    assert!(
        !access.is_remote_user_gone(&id).await.unwrap(),
        "logged in again"
    );
    store.revoke_tokens_of(&id, None, 0).await.unwrap();
    store.disable_schedule(number).await.unwrap();
    assert_eq!(due().await, []);
}

async fn logins_by_the_word_of_a_provider_are_counted_as_those_with_a_password_are() {
    let (world, _) = world().await;
    let counted = || {
        let metrics = world.access.metrics();
        let counters = [&metrics.logins, &metrics.failed_logins, &metrics.lockouts];
        counters.map(|counter| counter.get())
    };
    let come = async |login: &str| {
        let told = RemoteUser {
            login: login.to_owned(),
            ..RemoteUser::default()
        };
        world.access.login_remote(told, Default::default()).await
    };
    come("rita").await.unwrap();
    assert_eq!(counted(), [1, 0, 0]);
    come("admin").await.unwrap_err();
    assert_eq!(counted(), [1, 1, 0], "the login is a user's of this server");
    let by = world.access.api_user();
    let rita = world.store.user_by_login("rita").await.unwrap().unwrap();
    world.access.set_revoked(&by, &rita.id, true).await.unwrap();
    come("rita").await.unwrap_err();
    assert_eq!(counted(), [1, 2, 0], "revoked");
    // Logins of directory users with a password are counted once.
    world.login("otto", "remote").await.unwrap();
    world.login("otto", "wrong").await.unwrap_err();
    assert_eq!(counted(), [2, 3, 0]);
}
