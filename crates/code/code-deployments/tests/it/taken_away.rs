//! Environments that were removed while no server ran are announced to followers at the next start.

use std::path::Path;
use std::time::Duration;

use code_deployments::service::DeploymentListeners;
use file_sync::{FileSync, FileSyncSettings};
use store::{Store, StoreConfig};

use crate::service::Service;
use crate::world::{World, name};

/// Returns the environments that followers see after a start of the server, with true for live
/// ones.
async fn told(world: &World, store: &Store) -> Vec<(String, bool)> {
    let sync = start(world, store).await;
    let latest = sync.latest_repository().submodules.into_iter();
    latest.map(|(of, it)| (of, it.commit.is_some())).collect()
}

async fn start(world: &World, store: &Store) -> FileSync {
    let settings = FileSyncSettings {
        lease: Duration::from_secs(60),
        timeout: Duration::from_secs(1),
    };
    let versions = world.deployer().versions().clone();
    FileSync::start(settings, store.clone(), versions)
        .await
        .unwrap()
}

fn all(shown: &[(&str, bool)]) -> Vec<(String, bool)> {
    let owned = shown
        .iter()
        .map(|(of, is_live)| ((*of).to_owned(), *is_live));
    owned.collect()
}

fn notes(world: &World) -> usize {
    let notes = std::fs::read_dir(world.path().join("deploys/content/taken-away"));
    notes.map_or(0, Iterator::count)
}

#[tokio::test]
async fn what_was_taken_away_on_purpose_is_told_at_the_next_start_and_nothing_else_is() {
    let world = World::new();
    world.control().commit();
    for branch in ["one", "two", "three", "four"] {
        world.control().git(&["branch", branch]);
        world.deploy(branch).await.unwrap();
    }
    let store = StoreConfig::sqlite(world.path().join("followers.db"));
    let store = Store::open(&store).await.unwrap();
    // In a directory without a server, no removal note is written.
    world.deployer().remove(&name("four")).await.unwrap();
    assert_eq!(notes(&world), 0);
    let live = [("one", true), ("three", true), ("two", true)];
    assert_eq!(told(&world, &store).await, all(&live));
    let service = Service::beside(world, DeploymentListeners::default()).await;
    service.manager.shutdown().await;
    let world = service.world;

    // One is removed on purpose, two by mistake; three is removed and deployed again.
    assert!(world.deployer().remove(&name("one")).await.unwrap());
    std::fs::remove_file(world.live("two")).unwrap();
    assert!(world.deployer().remove(&name("three")).await.unwrap());
    world.deploy("three").await.unwrap();
    // Removing a missing environment writes no note, and a note that is not a name is ignored.
    assert!(!world.deployer().remove(&name("four")).await.unwrap());
    assert_eq!(notes(&world), 2);
    write(&world, "\u{fc}.x", "");
    let live = [("one", false), ("three", true), ("two", true)];
    assert_eq!(told(&world, &store).await, all(&live));
    assert_eq!(notes(&world), 1, "what nobody understands is left alone");
    assert_eq!(told(&world, &store).await, all(&live), "and once is enough");

    // Killed after the note was written: the environment is live, and stays so.
    write(&world, "three", "");
    assert_eq!(told(&world, &store).await, all(&live));
    assert_eq!(notes(&world), 1);
    // Killed after the removal and before the announcement.
    assert!(world.deployer().remove(&name("three")).await.unwrap());
    let live = [("one", false), ("three", false), ("two", true)];
    assert_eq!(told(&world, &store).await, all(&live));
    // A removed environment that followers never had is not announced.
    write(&world, "never", "");
    assert_eq!(told(&world, &store).await, all(&live));
    assert_eq!(notes(&world), 1);
    // After an announcement by the running server, the note is gone.
    let sync = start(&world, &store).await;
    assert!(
        world
            .deployer()
            .remove(&name("one"))
            .await
            .is_ok_and(|was| !was)
    );
    world.deploy("one").await.unwrap();
    assert!(world.deployer().remove(&name("one")).await.unwrap());
    assert_eq!(notes(&world), 2);
    sync.announce(&name("one"), None).await.unwrap();
    assert_eq!(notes(&world), 1);
}

fn write(world: &World, note: &str, text: &str) {
    let directory = world.path().join("deploys/content/taken-away");
    std::fs::write(directory.join(Path::new(note)), text).unwrap();
}
