//! Users and tokens.

use store::{GrantRow, GroupRow, NewTokenRow, NewUserRow, RoleRow, UserChange, UserRow};

use crate::engine::{Bench, both};

both!(
    users_are_unique_and_change_in_parts,
    a_login_of_a_directory_is_found_in_other_ascii_letters_and_no_others,
    tokens_are_kept_by_hash,
    a_revoked_token_stays_revoked,
    a_deleted_user_leaves_nothing,
    a_role_is_written_as_a_whole_or_not_at_all,
    a_password_is_reset_once,
);

fn user(id: &str, login: &str) -> NewUserRow {
    NewUserRow {
        id: id.to_owned(),
        login: login.to_owned(),
        display_name: "A".to_owned(),
        email: String::new(),
        password_hash: Some("$argon2id$x".to_owned()),
        is_superuser: true,
        is_remote: false,
        created_ms: 1,
    }
}

async fn users_are_unique_and_change_in_parts(bench: Bench) {
    let store = &bench.store;
    assert!(store.insert_user(user("1", "admin")).await.unwrap());
    assert!(!store.insert_user(user("2", "admin")).await.unwrap());
    assert!(
        store.insert_user(user("3", "Admin")).await.unwrap(),
        "case counts"
    );
    let change = UserChange {
        is_revoked: Some(true),
        last_login_ms: Some(5),
        ..Default::default()
    };
    assert!(store.update_user("1", change).await.unwrap());
    assert!(!store.update_user("9", UserChange::default()).await.unwrap());
    let row = store.user_by_login("admin").await.unwrap().unwrap();
    assert_eq!(
        (row.is_revoked, row.is_superuser, row.last_login_ms),
        (true, true, Some(5))
    );
    assert_eq!(row.password_hash.as_deref(), Some("$argon2id$x"));
    assert!(!format!("{row:?}{:?}", user("1", "x")).contains("argon2id"));
    assert_eq!(store.users().await.unwrap().len(), 2);
    assert_eq!(store.user("1").await.unwrap(), Some(row));
}

async fn a_login_of_a_directory_is_found_in_other_ascii_letters_and_no_others(bench: Bench) {
    let store = &bench.store;
    let remote = |id, login| NewUserRow {
        is_remote: true,
        ..user(id, login)
    };
    for new in [
        user("local", "Ada"),
        remote("small", "m\u{fc}ller"),
        remote("capital", "\u{c4}nne"),
        remote("other", "grace"),
        remote("same", "Grace"),
    ] {
        assert!(store.insert_user(new).await.unwrap());
    }
    let typed = async |login: &str| {
        let found = store.user_by_typed_login(login).await.unwrap();
        found.map(|row| row.id)
    };
    for (login, expected) in [
        ("Ada", Some("local")),
        ("ada", None),
        ("M\u{fc}LLER", Some("small")),
        ("M\u{dc}LLER", None),
        ("\u{c4}NNE", Some("capital")),
        ("\u{e4}nne", None),
        ("grace", Some("other")),
        ("Grace", Some("same")),
        ("GRACE", Some("same")),
        ("", None),
    ] {
        assert_eq!(typed(login).await.as_deref(), expected, "{login}");
    }
    // Capitals come before small letters, and these before other characters.
    let all = store.users().await.unwrap();
    let logins: Vec<&str> = all.iter().map(|row| row.login.as_str()).collect();
    assert_eq!(
        logins,
        ["Ada", "Grace", "grace", "m\u{fc}ller", "\u{c4}nne"]
    );
}

async fn tokens_are_kept_by_hash(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "admin")).await.unwrap();
    let token = |byte, expires_ms| NewTokenRow {
        hash: [byte; 32],
        id: format!("id {byte}"),
        user_id: "1".to_owned(),
        created_ms: i64::from(byte),
        expires_ms,
        ..NewTokenRow::default()
    };
    for (byte, expires_ms) in [(1, None), (2, Some(10)), (3, Some(20))] {
        store.insert_token(token(byte, expires_ms)).await.unwrap();
    }
    let nobodys = NewTokenRow {
        user_id: "9".to_owned(),
        ..token(4, None)
    };
    assert!(store.insert_token(nobodys).await.is_err());
    let second = store.token_by_hash(&[2; 32]).await.unwrap();
    assert_eq!(second.as_ref().unwrap().expires_ms, Some(10));
    assert_eq!(store.token_by_id("id 2").await.unwrap(), second);
    assert_eq!(store.token_by_hash(&[9; 32]).await.unwrap(), None);
    assert_eq!(store.delete_old_tokens(15).await.unwrap(), 1);
    assert_eq!(store.tokens_of("1").await.unwrap().len(), 2);
    let uses = vec![([1; 32], 50), ([1; 32], 40), ([9; 32], 1)];
    store.tokens_active(uses).await.unwrap();
    let active = store.token_by_hash(&[1; 32]).await.unwrap().unwrap();
    assert_eq!(active.last_active_ms, Some(50), "never earlier");
}

async fn a_revoked_token_stays_revoked(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "admin")).await.unwrap();
    for byte in 1..=3 {
        let token = NewTokenRow {
            hash: [byte; 32],
            user_id: "1".to_owned(),
            label: Some(format!("label {byte}")),
            ..NewTokenRow::default()
        };
        store.insert_token(token).await.unwrap();
    }
    assert!(store.revoke_token(&[1; 32], 5).await.unwrap());
    assert!(!store.revoke_token(&[1; 32], 9).await.unwrap());
    let row = store.token_by_hash(&[1; 32]).await.unwrap().unwrap();
    assert_eq!((row.revoked_ms, row.label), (Some(5), None));
    assert_eq!(store.count_tokens_of("1").await.unwrap(), 2);
    let but = Some(&[2; 32]);
    assert_eq!(store.revoke_tokens_of("1", but, 6).await.unwrap(), 1);
    assert_eq!(store.tokens_of("1").await.unwrap().len(), 1);
    assert_eq!(store.revoke_tokens_of("1", None, 7).await.unwrap(), 1);
    assert_eq!(store.delete_old_tokens(7).await.unwrap(), 2);
    assert_eq!(store.count_tokens_of("1").await.unwrap(), 0);
}

async fn a_deleted_user_leaves_nothing(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "fred")).await.unwrap();
    let token = NewTokenRow {
        hash: [1; 32],
        user_id: "1".to_owned(),
        ..NewTokenRow::default()
    };
    store.insert_token(token).await.unwrap();
    store.put_role(role(7, "Role")).await.unwrap();
    store.set_roles_of_user("1", &[7]).await.unwrap();
    let group = GroupRow {
        id: "g".to_owned(),
        login: "staff".to_owned(),
        display_name: "Staff".to_owned(),
        origin: "ldap:one".to_owned(),
    };
    assert!(store.insert_group(group.clone()).await.unwrap());
    assert!(!store.insert_group(group).await.unwrap());
    let groups = ["staff", "no such"].map(str::to_owned);
    let join = async |origin| {
        store
            .set_groups_of_user("1", origin, &groups)
            .await
            .unwrap()
    };
    join("ldap:two").await;
    assert_eq!(store.group_members("g").await.unwrap(), [""; 0]);
    join("ldap:one").await;
    assert_eq!(store.group_members("g").await.unwrap(), ["1"]);
    store
        .insert_password_reset(&[2; 32], "1", "1", 9, 0)
        .await
        .unwrap();
    assert!(store.delete_user("1").await.unwrap());
    assert!(!store.delete_user("1").await.unwrap());
    assert_eq!(store.role(7).await.unwrap().unwrap().user_ids, [""; 0]);
    assert_eq!(store.group_members("g").await.unwrap(), [""; 0]);
    assert_eq!(store.password_reset(&[2; 32], 0).await.unwrap(), None);
}

fn role(id: i64, name: &str) -> RoleRow {
    RoleRow {
        id,
        display_name: name.to_owned(),
        ..RoleRow::default()
    }
}

async fn a_role_is_written_as_a_whole_or_not_at_all(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "fred")).await.unwrap();
    let next = store.next_role_id().await.unwrap();
    let grant = |action: &str| GrantRow {
        object_type: "tasks".to_owned(),
        action: action.to_owned(),
        instance: "*".to_owned(),
    };
    let whole = RoleRow {
        permissions: vec![grant("a"), grant("b")],
        user_ids: vec!["1".to_owned()],
        ..role(next, "Role")
    };
    store.put_role(whole.clone()).await.unwrap();
    assert_eq!(store.role(next).await.unwrap(), Some(whole.clone()));
    let nobody = RoleRow {
        permissions: vec![grant("c")],
        user_ids: vec!["9".to_owned()],
        ..role(next, "Other")
    };
    assert!(store.put_role(nobody).await.is_err());
    let namesake = role(next + 1, "Role");
    assert!(store.put_role(namesake).await.is_err());
    assert_eq!(store.roles().await.unwrap(), [whole]);
    assert_eq!(store.roles_of_user("1").await.unwrap(), [next]);
    assert!(store.delete_role(next).await.unwrap());
    assert!(!store.delete_role(next).await.unwrap());
    assert!(
        store.next_role_id().await.unwrap() > next,
        "never used again"
    );
}

async fn a_password_is_reset_once(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "fred")).await.unwrap();
    let token = NewTokenRow {
        hash: [5; 32],
        user_id: "1".to_owned(),
        ..NewTokenRow::default()
    };
    store.insert_token(token).await.unwrap();
    for byte in [1, 2] {
        store
            .insert_password_reset(&[byte; 32], "1", "1", 100, 0)
            .await
            .unwrap();
    }
    let set = async |byte, now_ms| {
        let hash = [byte; 32];
        store.set_password_by_reset(&hash, "1", "new", now_ms).await
    };
    let hash = |row: Option<UserRow>| row.unwrap().password_hash.unwrap();
    // The first token was replaced, and the third never existed.
    for byte in [1, 3] {
        assert!(!set(byte, 50).await.unwrap(), "{byte}");
        assert_eq!(hash(store.user("1").await.unwrap()), "$argon2id$x");
        assert_eq!(store.count_tokens_of("1").await.unwrap(), 1);
    }
    store.count_failed_login("1").await.unwrap();
    store.count_failed_login("no such").await.unwrap();
    assert_eq!(store.user("1").await.unwrap().unwrap().failed_logins, 1);
    assert!(set(2, 99).await.unwrap());
    assert!(!set(2, 99).await.unwrap(), "used up");
    assert_eq!(store.count_tokens_of("1").await.unwrap(), 0);
    let row = store.user("1").await.unwrap();
    assert_eq!(row.as_ref().unwrap().failed_logins, 0);
    assert_eq!(hash(row), "new");
    store
        .insert_password_reset(&[4; 32], "1", "1", 100, 0)
        .await
        .unwrap();
    assert!(!set(4, 100).await.unwrap(), "too late");
}
