//! The life of tokens, and what their holders may do.

use access::{AuthenticateError, Instance, Label, Lifetime, LoginError, Permission, RevokeError};
use store::NewUser;

use crate::world::World;

const RUN: Permission<'_> = Permission {
    object_type: "tasks",
    action: "run",
    instance: Instance::Named("package"),
};

#[tokio::test]
async fn nonsense_is_no_token() {
    let world = World::new().await;
    for token in ["", "x", "' OR 1=1 --", &"x".repeat(100_000)] {
        let refused = world.access.authenticate(token).await;
        assert!(matches!(refused, Err(AuthenticateError::Unknown)));
    }
}

#[tokio::test]
async fn a_token_ends_with_its_lifetime() {
    let world = World::new().await;
    let lifetime = Lifetime::parse("1s").unwrap();
    let password = world.password().into();
    let token = world
        .access
        .login("admin", password, lifetime, None, None)
        .await
        .unwrap();
    let user = world.store.user_by_login("admin").await.unwrap().unwrap();
    let row = world.store.tokens_of(&user.id).await.unwrap().remove(0);
    assert_eq!(row.expires_ms, Some(row.created_ms + 1_000));
    // Not waited for: the same token, written with an end that is past.
    let hash: [u8; 32] = row.hash.as_slice().try_into().unwrap();
    world.store.delete_token(&hash).await.unwrap();
    let past = store::NewToken {
        hash,
        user_id: row.user_id,
        label: None,
        created_ms: row.created_ms - 10_000,
        expires_ms: Some(row.created_ms - 9_000),
    };
    world.store.insert_token(past).await.unwrap();
    let token = secrecy::ExposeSecret::expose_secret(&token);
    let refused = world.access.authenticate(token).await;
    assert!(matches!(refused, Err(AuthenticateError::Expired)));
}

#[tokio::test]
async fn a_revoked_token_ends_at_once_and_others_stay() {
    let world = World::new().await;
    let first = world.login("admin", &world.password()).await.unwrap();
    let second = world.login("admin", &world.password()).await.unwrap();
    world.access.revoke(&first).await.unwrap();
    world.access.revoke(&first).await.unwrap();
    let refused = world.access.authenticate(&first).await;
    assert!(matches!(refused, Err(AuthenticateError::Unknown)));
    assert!(world.access.authenticate(&second).await.is_ok());
}

#[tokio::test]
async fn a_label_names_one_token_of_its_user() {
    let world = World::new().await;
    let label = Label::parse("laptop").unwrap();
    let login = || {
        let password = world.password().into();
        world.access.login(
            "admin",
            password,
            Lifetime::default(),
            Some(label.clone()),
            None,
        )
    };
    let token = login().await.unwrap();
    let token = secrecy::ExposeSecret::expose_secret(&token).to_owned();
    assert!(matches!(login().await, Err(LoginError::LabelTaken(_))));
    let identity = world.access.authenticate(&token).await.unwrap();
    world.access.revoke_label(&identity, &label).await.unwrap();
    assert!(world.access.authenticate(&token).await.is_err());
    let again = world.access.revoke_label(&identity, &label).await;
    assert!(matches!(again, Err(RevokeError::NoLabel(_))));
    assert!(login().await.is_ok());
}

#[tokio::test]
async fn who_is_no_administrator_is_denied_by_name() {
    let world = World::new().await;
    let token = world.login("admin", &world.password()).await.unwrap();
    let admin = world.access.authenticate(&token).await.unwrap();
    assert!(world.access.authorize(&admin, RUN).is_ok());
    let plain = NewUser {
        id: "u".to_owned(),
        login: "fred".to_owned(),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        is_superuser: false,
        created_ms: 0,
    };
    world.store.insert_user(plain).await.unwrap();
    // A user without a password cannot log in with any.
    assert!(matches!(
        world.login("fred", "").await,
        Err(LoginError::Wrong)
    ));
    let fred = access::Identity {
        login: "fred".to_owned(),
        is_superuser: false,
        ..admin
    };
    let denied = world.access.authorize(&fred, RUN).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "fred lacks the permission tasks:run:package"
    );
}
