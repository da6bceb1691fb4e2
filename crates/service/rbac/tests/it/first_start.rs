//! The user that the first start creates.

use std::os::unix::fs::PermissionsExt as _;

use rbac::Rbac;
use testkit::engine::Database;

use crate::world::{World, open_store};

testkit::both!(
    the_first_start_makes_an_administrator_with_a_password_only_root_reads,
    the_second_start_keeps_user_password_and_tokens,
    a_crash_between_password_and_user_is_healed_by_the_next_start,
    secrets_are_kept_as_hashes,
);

async fn the_first_start_makes_an_administrator_with_a_password_only_root_reads() {
    let world = World::new().await;
    let file = world.dir.path().join("admin-password");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(world.password().len(), 24);
    let token = world.login("admin", &world.password()).await.unwrap();
    let identity = world.access.authenticate(&token).await.unwrap();
    assert_eq!(identity.login, "admin");
    assert!(identity.is_superuser);
    assert!(identity.last_login_ms.is_some());
}

async fn the_second_start_keeps_user_password_and_tokens() {
    let world = World::new().await;
    let token = world.login("admin", &world.password()).await.unwrap();
    let before = world.password();
    world.store.close().await;
    let store = open_store(&world.database).await;
    let access = Rbac::open(store, world.dir.path()).await.unwrap();
    assert_eq!(world.password(), before);
    assert_eq!(access.authenticate(&token).await.unwrap().login, "admin");
}

async fn a_crash_between_password_and_user_is_healed_by_the_next_start() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::write(
        dir.path().join("admin-password"),
        "of the start that crashed\n",
    )
    .unwrap();
    let database = Database::empty().await.unwrap();
    let store = open_store(&database).await;
    let access = Rbac::open(store.clone(), dir.path()).await.unwrap();
    let world = World {
        dir,
        database,
        store,
        access,
    };
    assert!(world.login("admin", &world.password()).await.is_ok());
}

async fn secrets_are_kept_as_hashes() {
    let world = World::new().await;
    let token = world.login("admin", &world.password()).await.unwrap();
    world.store.close().await;
    assert!(world.database.holds("$argon2id$").unwrap());
    for secret in [&token, &world.password()] {
        assert!(!world.database.holds(secret).unwrap());
    }
    for entry in std::fs::read_dir(world.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.ends_with("admin-password") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for secret in [&token, &world.password()] {
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}
