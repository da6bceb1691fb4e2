//! Garbage collection: what is removed, what stays, and the state after a kill.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use code_deployments::service::{DeploymentAction, DeploymentState};
use code_store::gc::{GcOptions, RetentionSettings};
use code_store::version::VersionSignature;
use code_store::version::VersionStore;

use crate::kills::DIRECTORY;
use crate::service::{DEPLOY, Service, by};
use crate::world::{World, name};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps this number of versions; the age only protects versions that were live recently.
fn keep(versions: Option<usize>) -> RetentionSettings {
    RetentionSettings {
        versions,
        age: Duration::ZERO,
    }
}

fn kept(versions: usize) -> GcOptions {
    GcOptions {
        keep: keep(Some(versions)),
        ..GcOptions::default()
    }
}

/// Sets the modification time of a file or directory to this long ago.
fn age(path: &Path, age: Duration) {
    let file = std::fs::File::open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// Makes all versions look last live ten days ago or longer, older ones longer.
fn age_all(versions: &VersionStore, of: &[VersionSignature]) {
    for (number, signature) in (0_u32..).zip(of.iter().rev()) {
        let path = versions.path(&name("production"), signature);
        age(&path, 10 * DAY + number * DAY);
    }
}

fn all(versions: &VersionStore) -> Vec<VersionSignature> {
    let all = versions.all_versions().unwrap().into_iter();
    all.map(|(_, signature)| signature).collect()
}

/// Deploys one version after the other; returns their signatures.
async fn deployed(
    service: &Service,
    numbers: std::ops::RangeInclusive<u32>,
) -> Vec<VersionSignature> {
    let mut signatures = Vec::new();
    for number in numbers {
        service.commit(&number.to_string());
        let deployed = service.act("production", DEPLOY).await;
        assert_eq!(
            deployed.state,
            DeploymentState::Synced,
            "{:?}",
            deployed.outcome
        );
        signatures.push(deployed.signature.unwrap().parse().unwrap());
    }
    signatures
}

#[tokio::test]
async fn old_versions_go_by_themselves_after_a_deployment() {
    let service = Service::with(|settings| settings.keep = keep(Some(1))).await;
    let mut made = service.manager.disk_use();
    let versions = service.manager.versions().clone();
    let mut signatures = deployed(&service, 1..=5).await;
    assert_eq!(all(&versions).len(), 5, "they were live a moment ago");
    service.manager.collect(false).await.unwrap();
    age_all(&versions, &signatures);
    let used = (name("production"), signatures[1].clone());
    service.used.versions.lock().unwrap().insert(used.clone());
    made.mark_unchanged();
    signatures.extend(deployed(&service, 6..=6).await);
    made.changed().await.unwrap();
    let stays = [1, 4, 5].map(|number: usize| signatures[number].clone());
    let mut left = all(&versions);
    left.sort_by_key(|it| signatures.iter().position(|known| known == it));
    assert_eq!(left, stays, "a plan's, the last one, and the live one");
    let found = made.borrow().clone().unwrap();
    assert!(found.versions_bytes > 0 && found.repositories_bytes.unwrap() > 0);

    // A version that a plan no longer uses is removed after the next deployment.
    service.used.versions.lock().unwrap().remove(&used);
    service
        .act("production", DeploymentAction::Deploy { dry_run: true })
        .await;
    deployed(&service, 7..=7).await;
    while versions.has(&name("production"), &signatures[1]) {
        made.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_deployment_does_not_wait_for_who_does_not_say_what_is_in_use() {
    let service = Service::with(|settings| settings.keep = keep(Some(0))).await;
    service.used.is_silent.store(true, Ordering::Relaxed);
    let signatures = deployed(&service, 1..=3).await;
    let versions = service.manager.versions().clone();
    age_all(&versions, &signatures);
    for number in 4..=6 {
        deployed(&service, number..=number).await;
        service.used.asked.notified().await;
    }
    assert_eq!(all(&versions).len(), 6, "nothing is known, and all stay");
    service.used.is_silent.store(false, Ordering::Relaxed);
    deployed(&service, 7..=7).await;
    let mut made = service.manager.disk_use();
    while versions.has(&name("production"), &signatures[0]) {
        made.changed().await.unwrap();
    }
}

#[tokio::test]
async fn all_versions_stay_where_that_is_wanted() {
    let service = Service::with(|settings| settings.keep = keep(None)).await;
    let signatures = deployed(&service, 1..=4).await;
    let versions = service.manager.versions().clone();
    age_all(&versions, &signatures);
    let mut made = service.manager.disk_use();
    made.mark_unchanged();
    deployed(&service, 5..=5).await;
    made.changed().await.unwrap();
    service.manager.collect(false).await.unwrap();
    assert_eq!(all(&versions).len(), 5);
}

#[tokio::test]
async fn a_version_that_a_waiting_rollback_names_stays() {
    let service = Service::with(|settings| settings.keep = keep(Some(0))).await;
    let signatures = deployed(&service, 1..=3).await;
    service.manager.collect(false).await.unwrap();
    age_all(service.manager.versions(), &signatures);
    let back = DeploymentAction::Rollback {
        signature: signatures[0].clone(),
    };
    // The deployment runs and the rollback waits when the collection is requested.
    let wanted = vec![(name("production"), DEPLOY), (name("production"), back)];
    let mut submitted = service.manager.submit(wanted, by("anna")).await.unwrap();
    let collected = service.manager.collect(false).await.unwrap();
    assert!(
        !collected
            .versions
            .contains(&(name("production"), signatures[0].clone()))
    );
    let back = submitted.ends.remove(1).await.unwrap();
    assert_eq!(back.state, DeploymentState::Synced, "{:?}", back.outcome);
    assert_eq!(service.apt("production"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_find_what_a_collection_was_about_to_remove() {
    const ROUNDS: u32 = 12;
    let service = Service::with(|settings| settings.keep = keep(Some(0))).await;
    let versions = service.manager.versions().clone();
    for round in 0..ROUNDS {
        // Two alternating contents, so that each deployment needs contents of a version that is
        // being removed.
        let number = (round % 2).to_string();
        service.commit(&number);
        age_all(&versions, &all(&versions));
        let wanted = vec![(name("production"), DEPLOY)];
        let (collected, submitted) = tokio::join!(
            service.manager.collect(false),
            service.manager.submit(wanted, by("anna")),
        );
        collected.unwrap();
        let end = submitted.unwrap().ends.remove(0).await.unwrap();
        assert_eq!(end.state, DeploymentState::Synced, "{:?}", end.outcome);
        assert_eq!(service.apt("production"), number);
    }
}

#[tokio::test]
async fn a_server_alone_removes_versions_where_a_server_deployed() {
    let world = World::new();
    world.control().write("site.pp", "").commit();
    world.deploy("production").await.unwrap();
    assert!(!world.deployer().is_claimed_by_server());
    let service = Service::with(|_| {}).await;
    assert!(service.world.deployer().is_claimed_by_server());
}

/// Creates a world with a module that was deployed this number of times; returns the signatures.
async fn versions(count: u32) -> (World, Vec<VersionSignature>) {
    let world = World::new();
    world.module("apt");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    let mut signatures = Vec::new();
    for number in 1..=count {
        let apt = world.at("apt");
        apt.write("VERSION", &number.to_string());
        // Many files, so that the removal takes a while.
        for file in 0..30 {
            apt.write(&format!("files/{file}"), &format!("{number} {file}"));
        }
        apt.commit();
        signatures.push(world.deploy("production").await.unwrap().signature);
    }
    age_all(world.deployer().versions(), &signatures);
    (world, signatures)
}

/// Returns the copy of this module's repository.
fn copy(world: &World, module: &str) -> Option<PathBuf> {
    let copies = std::fs::read_dir(world.path().join("deploys/repositories")).unwrap();
    let mut copies = copies.map(|entry| entry.unwrap().path());
    copies.find(|path| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(&format!("{module}-")) && file.ends_with(".git")
    })
}

fn count(directory: PathBuf) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[tokio::test]
async fn notes_and_lists_and_copies_that_no_version_needs_go() {
    let (world, _) = versions(3).await;
    let apt = copy(&world, "apt").unwrap();
    assert_eq!(count(apt.with_extension("trees")), 3);
    let lists = || count(world.path().join("deploys/content/trees"));
    let before = lists();
    let spared = GcOptions {
        spare: DAY,
        ..kept(0)
    };
    world.deployer().collect(&spared, true).unwrap();
    assert_eq!(lists(), before, "they are new");
    let collected = world.deployer().collect(&kept(0), true).unwrap();
    assert_eq!(collected.repositories, 0);
    assert!(collected.repositories_bytes.unwrap() > 0);
    assert_eq!(
        count(apt.with_extension("trees")),
        1,
        "that of the live one"
    );
    assert_eq!(lists(), 2, "of the module, and of the control repository");

    // The module is removed, and much later the copy of its repository.
    world.puppetfile("");
    world.deploy("production").await.unwrap();
    let versions = world.deployer().versions();
    age_all(versions, &all(versions));
    world.deployer().collect(&kept(0), true).unwrap();
    assert!(apt.exists(), "it was used just now");
    age(&apt.with_extension("used"), 40 * DAY);
    let control = copy(&world, "control").unwrap();
    age(&control.with_extension("used"), 40 * DAY);
    let collected = world.deployer().collect(&kept(0), true).unwrap();
    assert_eq!(collected.repositories, 1);
    assert!(!apt.exists() && !apt.with_extension("trees").exists());
    assert!(control.exists(), "a source names it");

    // The module is added again, in the process that knew the copy.
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "3");
}

#[tokio::test]
async fn notes_of_archives_stay_as_long_as_a_version_has_them() {
    let world = World::new();
    let archive = |version: &str| {
        let archive = testkit::forge_server::Tar::module("a-m", version).gz();
        let path = world.path().join(format!("{version}.tar.gz"));
        std::fs::write(path, &archive).unwrap();
        world.puppetfile(&format!(
            "mod 'm', type: 'tarball', source: 'file://DIR/{version}.tar.gz'"
        ));
    };
    archive("1.0.0");
    let first = world.deploy("production").await.unwrap();
    archive("2.0.0");
    world.deploy("production").await.unwrap();
    let notes = || {
        let archives = world.path().join("deploys/archives");
        ["trees", "locations"].map(|kind| count(archives.join(kind)))
    };
    assert_eq!(notes(), [2, 2]);
    world.deployer().collect(&kept(5), true).unwrap();
    assert_eq!(notes(), [2, 2], "both versions stay");
    age_all(world.deployer().versions(), &[first.signature]);
    world.deployer().collect(&kept(0), true).unwrap();
    assert_eq!(notes(), [1, 1]);
    // The remaining version needs no archive.
    std::fs::remove_file(world.path().join("2.0.0.tar.gz")).unwrap();
    world.control().write("other", "").commit();
    world.deploy("production").await.unwrap();
}

#[tokio::test]
async fn what_is_cut_off_goes_on_later() {
    let (world, _) = versions(3).await;
    let (deployer, versions) = (world.deployer(), world.deployer().versions());
    let cut = GcOptions {
        first: 7,
        ..kept(0)
    };
    cut.cut.cancel();
    let collected = deployer.collect(&cut, true).unwrap();
    assert_eq!(collected.cut_at, Some(7));
    assert_eq!((collected.versions.len(), collected.objects), (0, 0));
    assert_eq!(collected.repositories_bytes, None);
    assert_eq!(all(versions).len(), 3);
    let collected = deployer.collect(&kept(0), true).unwrap();
    assert_eq!((collected.versions.len(), collected.cut_at), (2, None));
    assert_eq!(collected.objects, 2 * 31);
}

/// Creates many packs in the copy of the module's repository.
async fn with_packs(world: &World, packs: usize) -> PathBuf {
    for number in 0..packs {
        world
            .at("apt")
            .write("VERSION", &format!("pack {number}"))
            .commit();
        world.deploy("production").await.unwrap();
        let copy = world.at(copy(world, "apt").unwrap().to_str().unwrap());
        copy.git(&["repack", "-d", "--quiet"]);
    }
    copy(world, "apt").unwrap()
}

fn packs(copy: &Path) -> usize {
    let all = std::fs::read_dir(copy.join("objects/pack")).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".pack")).count()
}

#[tokio::test]
async fn many_packs_become_few_and_no_object_goes() {
    let (world, _) = versions(1).await;
    let gone = world.at("apt").git(&["rev-parse", "HEAD"]);
    let copy = with_packs(&world, 22).await;
    // No branch leads to the first commit any more.
    world
        .at("apt")
        .git(&["checkout", "--quiet", "--orphan", "new"]);
    world.at("apt").commit();
    world.at("apt").git(&["branch", "--force", "production"]);
    world.deploy("production").await.unwrap();
    assert!(packs(&copy) > 20);
    world.deployer().repack().await;
    assert!(packs(&copy) < 5, "{}", packs(&copy));
    world
        .at(copy.to_str().unwrap())
        .git(&["cat-file", "-e", &gone]);
    world.at("apt").write("VERSION", "after").commit();
    world.at("apt").git(&["branch", "--force", "production"]);
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "after");
}

/// Not a test: the process that is killed.
#[tokio::test]
#[ignore = "the process that `killed_while_it_makes_room` kills"]
async fn makes_room() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let deployer = crate::world::at(Path::new(&directory));
    // Only a resolve round creates the copies in memory.
    let round = deployer.start_round();
    let environments = deployer.list_environments(&round).await.unwrap();
    let found = &environments.by_name[&name("production")];
    deployer.build(found, &round).await.unwrap();
    std::fs::write(Path::new(&directory).join("began"), "x").unwrap();
    deployer.collect(&kept(0), true).unwrap();
    deployer.repack().await;
}

fn begin(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "room::makes_room", "--ignored"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test]
async fn killed_while_it_makes_room() {
    // About the duration of the whole collection.
    const LONGEST_MS: u64 = 60;
    const KILLS: u64 = 8;
    let (mut world, _) = versions(8).await;
    let mut cut_off = 0;
    for number in 1..=KILLS {
        with_packs(&world, 3).await;
        world
            .at("apt")
            .write("VERSION", &number.to_string())
            .commit();
        let versions = world.deployer().versions().clone();
        age_all(&versions, &all(&versions));
        world.stop();
        let began = world.path().join("began");
        let _ = std::fs::remove_file(&began);
        let mut process = begin(world.path());
        while !began.exists() && process.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The process is killed at an arbitrary moment.
        tokio::time::sleep(Duration::from_millis(number * LONGEST_MS / KILLS)).await;
        process.kill().unwrap();
        cut_off += u64::from(!process.wait().unwrap().success());
        for (_, signature) in versions.all_versions().unwrap() {
            let root = versions.path(&name("production"), &signature);
            for file in ["modules/apt/VERSION", "modules/apt/files/29", "Puppetfile"] {
                assert!(root.join(file).exists(), "half of a version has its name");
            }
        }
        world.restart();
        let left = std::fs::read_dir(world.path().join("deploys/versions")).unwrap();
        let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.all(|name| !name.starts_with('.')));
        world.deploy("production").await.unwrap();
        let read = &world.files("production")["modules/apt/VERSION"];
        assert_eq!(*read, number.to_string());
    }
    assert!(cut_off > 0, "no kill came before its end");
    let copy = world.at(copy(&world, "apt").unwrap().to_str().unwrap());
    copy.git(&["fsck", "--connectivity-only"]);
}
