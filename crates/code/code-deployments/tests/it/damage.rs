//! Files whose bytes do not match their hashes, as after a lost write of the disk or an edit of
//! deployed code: the first deployment of a process finds and repairs them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kills::begin;
use crate::world::{World, name};

pub(crate) const CLASS: &str = "class apt { notify { 'right': } }\n";
pub(crate) const OTHER_CLASS: &str = "class apt { notify { 'wrong': } }\n";
/// A way to damage a file.
type Damage = fn(&Path);

const KILLS: u64 = 10;
/// About the duration of a deployment that repairs.
const LONGEST_MS: u64 = 200;

pub(crate) async fn deployed() -> World {
    let world = World::new();
    let apt = world.module("apt");
    apt.write("manifests/init.pp", CLASS).write("VERSION", "1");
    std::os::unix::fs::symlink("VERSION", apt.path.join("link")).unwrap();
    apt.commit();
    world.control().write("VERSION", "1");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    world.deploy("production").await.unwrap();
    world
}

/// Overwrites a file in place, as a disk does, so that all its hard links change.
pub(crate) fn overwrite(path: &Path, text: &str) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, text).unwrap();
    // A disk that loses a write does not change the modification time.
    let file = fs::File::open(path).unwrap();
    file.set_modified(modified).unwrap();
}

fn live_file(world: &World, path: &str) -> PathBuf {
    world.live("production").canonicalize().unwrap().join(path)
}

/// Returns the path of the content object with this text.
pub(crate) fn object(world: &World, text: &str) -> PathBuf {
    let objects = world.path().join("deploys/content/objects");
    let directories = fs::read_dir(objects).unwrap();
    let mut files = directories
        .flat_map(|it| fs::read_dir(it.unwrap().path()).unwrap())
        .map(|it| it.unwrap().path());
    let found = files.find(|path| fs::read(path).unwrap() == text.as_bytes());
    found.unwrap()
}

fn expected(world: &World) -> BTreeMap<String, String> {
    let line = format!(
        "mod 'apt', git: '{}/apt', branch: 'production'",
        world.path().display()
    );
    let files = [
        ("Puppetfile", line.as_str()),
        ("VERSION", "1"),
        ("modules/apt/VERSION", "1"),
        ("modules/apt/link", "-> VERSION"),
        ("modules/apt/manifests/init.pp", CLASS),
    ];
    files
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into()
}

#[tokio::test]
async fn a_content_of_the_right_length_with_wrong_bytes_goes_into_no_version() {
    let mut world = deployed().await;
    overwrite(&object(&world, CLASS), OTHER_CLASS);
    world.restart();
    world.control().write("VERSION", "2").commit();
    world.deploy("production").await.unwrap();
    assert_eq!(
        world.files("production")["modules/apt/manifests/init.pp"],
        CLASS
    );
}

#[tokio::test]
async fn damaged_files_of_a_version_are_named_and_put_right_by_the_next_deployment() {
    let cases: [(&str, Damage); 6] = [
        ("modules/apt/manifests/init.pp", |path| {
            overwrite(path, OTHER_CLASS)
        }),
        ("modules/apt/manifests/init.pp", |path| {
            fs::write(path, "").unwrap()
        }),
        ("modules/apt/manifests/init.pp", |path| {
            // An editor writes a new file and renames it.
            fs::remove_file(path).unwrap();
            fs::write(path, OTHER_CLASS).unwrap();
        }),
        ("modules/apt/VERSION", |path| fs::remove_file(path).unwrap()),
        ("modules/apt/link", |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("manifests", path).unwrap();
        }),
        ("modules/apt/manifests/init.pp", |path| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).unwrap();
        }),
    ];
    for (number, (path, damage)) in cases.into_iter().enumerate() {
        let mut world = deployed().await;
        damage(&live_file(&world, path));
        world.restart();
        let built = world.deploy("production").await.unwrap();
        assert!(
            built.healed.contains(&path.to_owned()),
            "{number}: {built:?}"
        );
        assert!(
            built.notes.iter().any(|note| note.contains(path)),
            "{built:?}"
        );
        assert_eq!(world.files("production"), expected(&world), "{number}");
        let mode = fs::metadata(live_file(&world, path)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o111, 0, "{number}");
        world.restart();
        let again = world.deploy("production").await.unwrap();
        assert_eq!(
            (again.healed.len(), again.existed_before),
            (0, true),
            "{number}"
        );
    }
}

#[tokio::test]
async fn a_promoted_version_is_not_damaged_because_it_names_the_environment_it_was_made_for() {
    let mut world = deployed().await;
    let built = world.build("production").await.unwrap();
    let staging = name("staging");
    let deployer = world.deployer();
    let copied = deployer.copy(&built.environment, &built.signature, &staging);
    copied.await.unwrap();
    world.control().git(&["branch", "staging"]);
    world.restart();
    let again = world.deploy("staging").await.unwrap();
    assert_eq!(again.signature, built.signature);
    assert_eq!(
        (again.healed.len(), again.existed_before),
        (0, true),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_version_is_whole_or_as_it_was_whenever_its_healing_is_killed() {
    let mut world = deployed().await;
    let began = world.path().join("began");
    for number in 0..KILLS {
        let file = live_file(&world, "modules/apt/manifests/init.pp");
        overwrite(&file, OTHER_CLASS);
        world.stop();
        drop(fs::remove_file(&began));
        let mut process = begin(world.path());
        while !began.exists() && process.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The deployment is killed at an arbitrary moment.
        let moment = Duration::from_millis(number * LONGEST_MS / KILLS);
        tokio::time::sleep(moment).await;
        process.kill().unwrap();
        process.wait().unwrap();
        let mut files = world.files("production");
        let class = files.insert("modules/apt/manifests/init.pp".to_owned(), CLASS.to_owned());
        assert!([CLASS, OTHER_CLASS].contains(&class.unwrap().as_str()));
        assert_eq!(files, expected(&world), "{number}");
        world.restart();
        world.deploy("production").await.unwrap();
        assert_eq!(world.files("production"), expected(&world), "{number}");
    }
}
