//! Verification of the whole store: damage is found by hashes, reported without changes, and
//! repaired.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use code_deployments::CodeManager;
use code_deployments::service::{
    DeploymentAction, DeploymentListeners, DeploymentState, VerifyError,
};
use code_store::integrity::{StoreCheckError, StoreVerification, VersionIntegrity};
use code_store::version::VersionSignature;
use code_store::version_lock::LOCK_FILE;
use store::{Store, StoreConfig};
use tokio_util::sync::CancellationToken;

use crate::damage::{CLASS, OTHER_CLASS, deployed, object, overwrite};
use crate::service::{Used, by};
use crate::world::{World, name};

const INIT: &str = "modules/apt/manifests/init.pp";

/// A way to damage a file.
type Damage = fn(&Path);

/// Creates a world with an old version and a live one, which share the module apt.
async fn two_versions() -> (World, VersionSignature, VersionSignature) {
    let world = deployed().await;
    let old = world.build("production").await.unwrap().signature;
    world.control().write("VERSION", "2").commit();
    let live = world.deploy("production").await.unwrap().signature;
    (world, old, live)
}

async fn verify(world: &World, repair: bool) -> StoreVerification {
    let verified = world.deployer().verify(repair, CancellationToken::new());
    verified.await.unwrap()
}

fn integrity<'a>(
    verified: &'a StoreVerification,
    signature: &VersionSignature,
) -> &'a VersionIntegrity {
    let versions = &verified.check.versions;
    let found = versions.iter().find(|it| it.signature == *signature);
    &found.unwrap().integrity
}

fn damaged(path: &str) -> VersionIntegrity {
    VersionIntegrity::Damaged(vec![path.to_owned()])
}

fn version_file(world: &World, signature: &VersionSignature, path: &str) -> PathBuf {
    let versions = world.deployer().versions();
    versions.path(&name("production"), signature).join(path)
}

fn assert_repaired(verified: &StoreVerification) {
    let failed = verified.repairs.values().find(|it| it.error.is_some());
    assert_eq!(failed, None);
}

async fn assert_whole(world: &World) {
    let verified = verify(world, false).await;
    assert_eq!(verified.check.damaged_contents, Vec::<PathBuf>::new());
    assert_eq!(verified.check.damaged_or_unknown(), []);
}

#[tokio::test]
async fn damaged_content_is_found_in_all_versions_that_have_it_and_nothing_is_changed_until_it_is_repaired()
 {
    let (world, old, live) = two_versions().await;
    assert_whole(&world).await;
    // The process has verified the content before, and the modification time does not change.
    let object = object(&world, CLASS);
    overwrite(&object, OTHER_CLASS);
    for _ in 0..2 {
        let found = verify(&world, false).await;
        assert_eq!(found.check.damaged_contents, std::slice::from_ref(&object));
        assert_eq!(integrity(&found, &old), &damaged(INIT));
        assert_eq!(integrity(&found, &live), &damaged(INIT));
        assert!(found.repairs.is_empty());
        assert_eq!(fs::read_to_string(&object).unwrap(), OTHER_CLASS);
    }
    let repaired = verify(&world, true).await;
    assert_eq!(repaired.repairs.len(), 2);
    assert_repaired(&repaired);
    for signature in [&old, &live] {
        let file = version_file(&world, signature, INIT);
        assert_eq!(fs::read_to_string(file).unwrap(), CLASS);
    }
    assert_whole(&world).await;
}

#[tokio::test]
async fn every_kind_of_damage_of_an_old_version_is_found_and_repaired() {
    let cases: [(&str, Damage); 5] = [
        (INIT, |path| fs::write(path, "").unwrap()),
        (INIT, |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, OTHER_CLASS).unwrap();
        }),
        ("modules/apt/VERSION", |path| fs::remove_file(path).unwrap()),
        ("modules/apt/link", |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("manifests", path).unwrap();
        }),
        (INIT, |path| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).unwrap();
        }),
    ];
    let (world, old, _) = two_versions().await;
    for (number, (path, damage)) in cases.into_iter().enumerate() {
        damage(&version_file(&world, &old, path));
        let found = verify(&world, false).await;
        assert_eq!(integrity(&found, &old), &damaged(path), "{number}");
        assert_repaired(&verify(&world, true).await);
        assert_whole(&world).await;
    }
}

#[tokio::test]
async fn version_whose_lists_of_files_are_gone_is_not_called_whole() {
    let (world, old, live) = two_versions().await;
    for entry in fs::read_dir(world.path().join("deploys/repositories")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "trees") {
            fs::remove_dir_all(path).unwrap();
        }
    }
    let found = verify(&world, false).await;
    for signature in [&old, &live] {
        let integrity = integrity(&found, signature);
        assert!(
            matches!(integrity, VersionIntegrity::Unknown(_)),
            "{integrity:?}"
        );
    }
    let shown = found.to_code_verified();
    assert_eq!(shown.versions[0].state, "unknown");
    assert!(shown.versions[0].why.is_some());
    let repaired = verify(&world, true).await;
    assert_repaired(&repaired);
    assert_eq!(repaired.to_code_verified().versions[0].state, "whole");
    assert_whole(&world).await;
}

#[tokio::test]
async fn version_without_its_lock_is_damaged_and_says_what_helps() {
    let (world, _, live) = two_versions().await;
    let lock = version_file(&world, &live, LOCK_FILE);
    fs::write(&lock, "{}").unwrap();
    let repaired = verify(&world, true).await;
    assert_eq!(integrity(&repaired, &live), &damaged(LOCK_FILE));
    let error = repaired.repairs[&(name("production"), live.clone())]
        .error
        .as_ref();
    assert!(
        error.unwrap().contains("deploy the environment"),
        "{error:?}"
    );
    let shown = repaired.to_code_verified();
    let shown = shown.versions.iter().find(|it| it.live).unwrap();
    assert_eq!((shown.state.as_str(), shown.damaged_files), ("damaged", 1));
}

#[tokio::test]
async fn published_version_is_compared_by_the_hash_of_its_files() {
    let world = World::with(|settings| {
        settings.staging = Some(settings.directory.with_file_name("staging"));
    });
    let staged = world.path().join("staging/environments/staged");
    fs::create_dir_all(&staged).unwrap();
    fs::write(staged.join("site.pp"), "").unwrap();
    let (signature, _) = world.deployer().publish(&name("staged")).await.unwrap();
    assert_whole(&world).await;
    let versions = world.deployer().versions();
    let file = versions.path(&name("staged"), &signature).join("site.pp");
    fs::remove_file(&file).unwrap();
    let found = verify(&world, false).await;
    assert!(matches!(
        integrity(&found, &signature),
        VersionIntegrity::Damaged(_)
    ));
    assert_repaired(&verify(&world, true).await);
    assert!(file.exists());
    assert_whole(&world).await;
    fs::remove_file(&file).unwrap();
    fs::write(staged.join("site.pp"), "notify { 'other': }\n").unwrap();
    let repaired = verify(&world, true).await;
    let error = &repaired.repairs[&(name("staged"), signature)].error;
    assert!(
        error.as_ref().unwrap().contains("publish it again"),
        "{error:?}"
    );
}

#[tokio::test]
async fn verification_that_is_cut_off_gives_no_result() {
    let (world, _, _) = two_versions().await;
    let cut = CancellationToken::new();
    cut.cancel();
    let error = world.deployer().verify(false, cut).await.unwrap_err();
    assert!(
        matches!(error, VerifyError::Check(StoreCheckError::Interrupted)),
        "{error}"
    );
}

/// Starts a service over a world, as after a start of the server.
async fn served(world: &mut World) -> CodeManager {
    world.restart();
    let store = StoreConfig::sqlite(world.path().join("tutti.db"));
    let store = Store::open(&store).await.unwrap();
    let used = Arc::new(Used::default());
    let manager = CodeManager::start(
        world.deployer().clone(),
        store,
        used,
        DeploymentListeners::default(),
    );
    manager.await.unwrap()
}

async fn roll_back(
    manager: &CodeManager,
    signature: &VersionSignature,
) -> code_deployments::service::Deployment {
    let action = DeploymentAction::Rollback {
        signature: signature.clone(),
    };
    let wanted = vec![(name("production"), action)];
    let mut submitted = manager.submit(wanted, by("anna")).await.unwrap();
    submitted.ends.remove(0).await.unwrap()
}

#[tokio::test]
async fn rollback_to_a_damaged_version_makes_it_whole_first() {
    let (mut world, old, _) = two_versions().await;
    fs::remove_file(version_file(&world, &old, INIT)).unwrap();
    let manager = served(&mut world).await;
    let ended = roll_back(&manager, &old).await;
    assert_eq!(ended.state, DeploymentState::Synced, "{ended:?}");
    let notes = ended.outcome.unwrap().notes;
    assert!(notes.iter().any(|note| note.contains(INIT)), "{notes:?}");
    assert_eq!(world.files("production")[INIT], CLASS);
    manager.shutdown().await;
}

#[tokio::test]
async fn damaged_version_that_cannot_be_made_whole_does_not_become_live() {
    let (mut world, old, live) = two_versions().await;
    overwrite(&object(&world, CLASS), OTHER_CLASS);
    // Neither the repository nor its copy has the content any more.
    fs::remove_dir_all(world.path().join("apt")).unwrap();
    for entry in fs::read_dir(world.path().join("deploys/repositories")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.extension().is_none_or(|it| it != "trees") {
            fs::remove_dir_all(path).unwrap();
        }
    }
    let manager = served(&mut world).await;
    let ended = roll_back(&manager, &old).await;
    assert_eq!(ended.state, DeploymentState::Failed, "{ended:?}");
    let error = ended.outcome.unwrap().error.unwrap();
    assert!(error.msg.contains(INIT), "{error:?}");
    let found = world
        .deployer()
        .versions()
        .live_version(&name("production"));
    assert_eq!(found, Some(live));
    manager.shutdown().await;
}

#[tokio::test]
async fn repairs_of_a_server_stand_in_the_history_and_leave_the_live_version() {
    let (mut world, old, live) = two_versions().await;
    fs::remove_file(version_file(&world, &old, INIT)).unwrap();
    let manager = served(&mut world).await;
    let found = manager.verify(false, by("anna")).await.unwrap();
    assert_eq!(integrity(&found, &old), &damaged(INIT));
    assert_eq!(manager.history(None, None, 10).await.unwrap(), []);
    let repaired = manager.verify(true, by("anna")).await.unwrap();
    assert_repaired(&repaired);
    let history = manager.history(None, None, 10).await.unwrap();
    assert_eq!(history.len(), 1, "whole versions are left alone");
    let repair = &repaired.repairs[&(name("production"), old.clone())];
    assert_eq!(repair.deployment, Some(history[0].id));
    assert_eq!(history[0].action, "repair");
    assert_eq!(history[0].signature.as_deref(), Some(live.as_str()));
    let shown = repaired.to_code_verified();
    let shown = shown.versions.iter().find(|it| !it.live).unwrap();
    assert_eq!(shown.state, "repaired");
    let file = version_file(&world, &old, INIT);
    assert_eq!(fs::read_to_string(file).unwrap(), CLASS);
    assert_whole(&world).await;
    manager.shutdown().await;
}
