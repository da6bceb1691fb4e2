//! Users and tokens.

use store::{NewToken, NewUser, UserChange};

use crate::engine::{Bench, both};

both!(
    users_are_unique_and_change_in_parts,
    tokens_are_kept_by_hash
);

fn user(id: &str, login: &str) -> NewUser {
    NewUser {
        id: id.to_owned(),
        login: login.to_owned(),
        display_name: "A".to_owned(),
        email: String::new(),
        password_hash: Some("$argon2id$x".to_owned()),
        is_superuser: true,
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

async fn tokens_are_kept_by_hash(bench: Bench) {
    let store = &bench.store;
    store.insert_user(user("1", "admin")).await.unwrap();
    let token = |byte, expires_ms| NewToken {
        hash: [byte; 32],
        user_id: "1".to_owned(),
        label: None,
        created_ms: i64::from(byte),
        expires_ms,
    };
    for (byte, expires_ms) in [(1, None), (2, Some(10)), (3, Some(20))] {
        store.insert_token(token(byte, expires_ms)).await.unwrap();
    }
    let nobodys = NewToken {
        user_id: "9".to_owned(),
        ..token(4, None)
    };
    assert!(store.insert_token(nobodys).await.is_err());
    assert_eq!(
        store
            .token_by_hash(&[2; 32])
            .await
            .unwrap()
            .unwrap()
            .expires_ms,
        Some(10)
    );
    assert_eq!(store.token_by_hash(&[9; 32]).await.unwrap(), None);
    assert_eq!(store.delete_expired_tokens(15).await.unwrap(), 1);
    assert_eq!(store.tokens_of("1").await.unwrap().len(), 2);
    assert!(store.delete_token(&[1; 32]).await.unwrap());
    assert!(!store.delete_token(&[1; 32]).await.unwrap());
    assert_eq!(store.delete_tokens_of("1").await.unwrap(), 1);
}
