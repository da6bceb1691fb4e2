//! Directories that cannot be written to: reported before anything is built, with path, cause and
//! remedy.
//!
//! The tests use real mounts, so they need root; without it they are skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use code_deployments::service::{Deployment, DeploymentAction, DeploymentState, error_kinds};

use crate::service::{DEPLOY, Service, by};
use crate::world::{World, name};

const DRY: DeploymentAction = DeploymentAction::Deploy { dry_run: true };

/// A mount that ends when this is dropped.
struct Mount(PathBuf);

// === impl Mount ===

impl Mount {
    /// Mounts; `None` if this process may not, which is printed.
    fn new(options: &[&str], source: &Path, at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(options).arg(source).arg(at);
        let output = mount.output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            eprintln!("SKIPPED: nothing can be mounted: {why}");
            return None;
        }
        Some(Self(at.to_owned()))
    }

    fn tmpfs(options: &str, at: &Path) -> Option<Self> {
        Self::new(&["-t", "tmpfs", "-o", options], Path::new("tmpfs"), at)
    }

    /// Mounts the directory on itself, with its own options.
    fn bind(at: &Path) -> Option<Self> {
        Self::new(&["--bind"], at, at)
    }

    fn read_only(at: &Path) -> Option<Self> {
        let mount = Self::bind(at)?;
        let mut remount = Command::new("mount");
        remount.args(["-o", "remount,bind,ro"]).arg(at);
        assert!(remount.status().unwrap().success());
        Some(mount)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Open files keep the file system until they are closed.
        let status = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

/// Checks that a deployment failed with an error that contains all parts.
fn told(deployment: &Deployment, parts: &[&str]) {
    assert_eq!(deployment.state, DeploymentState::Failed);
    assert_eq!(deployment.signature, None, "nothing was built");
    let error = deployment.outcome.as_ref().unwrap().error.clone().unwrap();
    assert_eq!(error.kind, error_kinds::UNWRITABLE);
    for part in parts {
        assert!(error.msg.contains(part), "{part:?}: {}", error.msg);
    }
}

async fn is_refused(service: &Service, parts: &[&str]) {
    told(&service.act("production", DRY).await, parts);
    told(&service.act("production", DEPLOY).await, parts);
}

async fn obstacles(service: &Service) -> Vec<String> {
    let obstacles = service.manager.write_obstacles().await;
    obstacles.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_dry_run_says_that_a_read_only_directory_of_environments_stops_it() {
    let service = Service::with(|_| {}).await;
    let environments = service.world.live("production");
    let environments = environments.parent().unwrap();
    let Some(mount) = Mount::read_only(environments) else {
        return;
    };
    let path = environments.display().to_string();
    is_refused(
        &service,
        &[
            &path,
            "is on a read-only file system",
            "mount -o remount,rw",
        ],
    )
    .await;
    let told = obstacles(&service).await;
    assert!(told.len() == 1 && told[0].starts_with(&path), "{told:?}");
    drop(mount);
    assert_eq!(obstacles(&service).await, [""; 0]);
    assert_eq!(
        service.act("production", DRY).await.state,
        DeploymentState::Synced
    );
    assert_eq!(
        service.act("production", DEPLOY).await.state,
        DeploymentState::Synced
    );
}

#[tokio::test]
async fn a_full_disk_stops_deployments_and_no_rollback() {
    let service = Service::with(|_| {}).await;
    let first = service.act("production", DEPLOY).await;
    service.commit("2");
    service.act("production", DEPLOY).await;
    let repositories = service.world.path().join("deploys/repositories");
    let Some(_mount) = Mount::tmpfs("size=4k", &repositories) else {
        return;
    };
    std::fs::write(repositories.join("filler"), [0; 4_096]).unwrap();
    let path = repositories.display().to_string();
    is_refused(
        &service,
        &[
            &path,
            "No space left on device",
            "0 bytes",
            "`tutti code gc`",
        ],
    )
    .await;
    let signature = first.signature.unwrap().parse().unwrap();
    let back = service.act("production", DeploymentAction::Rollback { signature });
    assert_eq!(back.await.state, DeploymentState::Synced);
}

#[tokio::test]
async fn versions_on_another_file_system_than_their_contents_are_told() {
    let service = Service::with(|_| {}).await;
    let versions = service.world.path().join("deploys/versions");
    let Some(_mount) = Mount::tmpfs("size=1m", &versions) else {
        return;
    };
    let (path, content) = (
        versions.display().to_string(),
        service.world.path().join("deploys/content"),
    );
    let content = content.display().to_string();
    is_refused(
        &service,
        &[&path, &content, "hard links", "`code.directory` as a whole"],
    )
    .await;
}

#[tokio::test]
async fn a_mount_point_in_the_place_of_the_link_is_told() {
    let service = Service::with(|_| {}).await;
    let live = service.world.live("production");
    let Some(mount) = Mount::tmpfs("size=1m", &live) else {
        return;
    };
    let path = live.display().to_string();
    is_refused(&service, &[&path, "is a mount point", "umount"]).await;
    assert_eq!(obstacles(&service).await, [""; 0], "others can be deployed");
    drop(mount);
    assert_eq!(
        service.act("production", DEPLOY).await.state,
        DeploymentState::Synced
    );
}

#[tokio::test]
async fn a_directory_that_cannot_be_moved_to_the_versions_is_kept_beside_the_link() {
    let world = World::new();
    world.control().write("VERSION", "1").commit();
    let live = world.live("production");
    std::fs::create_dir_all(&live).unwrap();
    std::fs::write(live.join("OLD"), "x").unwrap();
    // A separate mount, like each path in a unit's `ReadWritePaths`.
    let Some(_mount) = Mount::bind(&world.path().join("deploys")) else {
        return;
    };
    let built = world.build("production").await.unwrap();
    let switched = world
        .deployer()
        .switch(&built.environment, &built.signature);
    let aside = switched.await.unwrap().moved_aside.unwrap();
    assert_eq!(std::fs::read_to_string(aside.join("OLD")).unwrap(), "x");
    assert!(aside.starts_with(live.parent().unwrap()), "{aside:?}");
    assert_eq!(world.files("production")["VERSION"], "1");
    let environments = world.deployer().versions().live_environments().unwrap();
    assert_eq!(environments.len(), 1, "its name is no environment's");
}

#[tokio::test]
async fn a_dry_run_of_a_pinned_environment_says_that_it_is_pinned() {
    let service = Service::with(|_| {}).await;
    service.act("production", DEPLOY).await;
    let pinned = service.manager.pin(&name("production"), by("ben")).await;
    pinned.unwrap();
    // A dry run without changes succeeds, since the live version can stay.
    assert_eq!(
        service.act("production", DRY).await.state,
        DeploymentState::Synced
    );
    service.commit("2");
    let dry = service.act("production", DRY).await;
    let error = dry.outcome.unwrap().error.unwrap();
    assert_eq!(error.kind, error_kinds::PINNED);
}
