//! Deployments that are killed, and damaged copies of repositories: the next deployment repairs
//! everything.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use code_deployments::Deployer;
use code_settings::DeploymentSettings;
use code_sources::git::GitProgram;
use code_sources::source::EnvironmentSource;

use crate::world::{World, name};

pub(crate) const MODULES: usize = 3;
/// `cargo xtask soak` sets another number.
const KILLS: u64 = 20;
/// About the duration of a deployment, so that kills hit all of its parts.
const LONGEST_MS: u64 = 300;
pub(crate) const DIRECTORY: &str = "TUTTI_TEST_DEPLOYS_IN";

/// Not a test: the process that is killed or traced.
#[tokio::test]
#[ignore = "the process that `killed_at_any_moment` kills"]
async fn deploys_once() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let environments = directory.join("code/environments");
    let mut settings = DeploymentSettings::new(directory.join("deploys"), environments);
    let control = directory.join("control").display().to_string();
    settings.sources = vec![Arc::new(EnvironmentSource::new("main", control))];
    let deployer = Deployer::open(settings, GitProgram::default()).unwrap();
    std::fs::write(directory.join("began"), "x").unwrap();
    let round = deployer.start_round();
    let environments = deployer.list_environments(&round).await.unwrap();
    let found = &environments.by_name[&name("production")];
    let built = deployer.build(found, &round).await.unwrap();
    let switched = deployer.switch(&built.environment, &built.signature);
    switched.await.unwrap();
}

/// A process that deploys in the directory of its environment variable.
pub(crate) fn deployment() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::deploys_once", "--ignored"]);
    command
}

pub(crate) fn begin(directory: &Path) -> std::process::Child {
    deployment()
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn write(world: &World, number: u64) {
    let text = number.to_string();
    for module in 0..MODULES {
        let module = world.at(&format!("m{module}"));
        module.write("VERSION", &text).commit();
        // A branch that is created and deleted, so that references are removed too.
        let branch = format!("b{}", number % 3);
        module.git(&["branch", "--force", &branch]);
        let _ = Command::new("git")
            .current_dir(&module.path)
            .args(["branch", "--quiet", "-D", &format!("b{}", (number + 1) % 3)])
            .stderr(Stdio::null())
            .status();
    }
    world.control().write("VERSION", &text).commit();
}

/// Returns the number in the live version.
fn live(world: &World) -> u64 {
    let root = std::fs::read_link(world.live("production")).unwrap();
    let read = |path: String| std::fs::read_to_string(root.join(path)).unwrap();
    let version = read("VERSION".to_owned());
    for module in 0..MODULES {
        assert_eq!(read(format!("modules/m{module}/VERSION")), version);
    }
    version.parse().unwrap()
}

/// Returns the paths of unfinished files.
fn leftovers(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let begins = ["tmp_", ".incoming-", "incoming-", "tree-"];
            let is_left = begins.iter().any(|begin| name.starts_with(begin));
            if is_left || name.ends_with(".lock") || name.ends_with(".new") {
                found.push(entry.path().display().to_string());
            } else if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
        }
    }
    found
}

#[tokio::test]
async fn killed_at_any_moment() {
    let mut world = World::new();
    world.add_modules(MODULES);
    write(&world, 0);
    world.deploy("production").await.unwrap();
    let kills = std::env::var("TUTTI_CODE_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut switched = 0;
    for number in 1..=kills {
        write(&world, number);
        world.stop();
        let began = world.path().join("began");
        let _ = std::fs::remove_file(&began);
        let mut process = begin(world.path());
        while !began.exists() && process.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The process is killed at a random moment.
        tokio::time::sleep(Duration::from_millis(random % LONGEST_MS)).await;
        process.kill().unwrap();
        process.wait().unwrap();
        let after = live(&world);
        assert!(after == number || after == number - 1, "{after} {number}");
        switched += u64::from(after == number);
        world.restart();
        world.deploy("production").await.unwrap();
        assert_eq!(live(&world), number);
    }
    assert_eq!(leftovers(world.path()), Vec::<String>::new());
    assert!(switched < kills, "no kill came before the switch");
}

/// Creates a world with one module, and returns the copy of the module's repository.
async fn copied() -> (World, std::path::PathBuf) {
    let world = World::new();
    world.module("apt").write("VERSION", "1").commit();
    let path = world.path().display().to_string();
    let line = format!("mod 'apt', git: '{path}/apt', branch: 'production'\n");
    world.control().write("Puppetfile", &line).commit();
    world.deploy("production").await.unwrap();
    let copies = std::fs::read_dir(world.path().join("deploys/repositories")).unwrap();
    let mut copies = copies.map(|entry| entry.unwrap().path());
    let is_apts = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("apt-") && name.ends_with(".git")
    };
    let copy = copies.find(is_apts).unwrap();
    (world, copy)
}

#[tokio::test]
async fn locks_of_a_killed_git_do_not_stop_the_next_one() {
    let (world, copy) = copied().await;
    for lock in [
        "packed-refs.lock",
        "refs/heads/production.lock",
        "HEAD.lock",
    ] {
        std::fs::write(copy.join(lock), "").unwrap();
    }
    world.at("apt").write("VERSION", "2").commit();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "2");
    assert_eq!(leftovers(&copy), Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_copy_is_made_anew() {
    // Damage as after a power cut: names without content, or missing files.
    let damages: [fn(&Path); 4] = [
        |copy| std::fs::remove_file(copy.join("HEAD")).unwrap(),
        |copy| std::fs::write(copy.join("refs/heads/production"), "").unwrap(),
        |copy| truncate(&copy.join("objects"), true),
        |copy| truncate(&copy.join("objects"), false),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let (mut world, copy) = copied().await;
        damage(&copy);
        // The notes and versions are removed, so that the copy is needed.
        std::fs::remove_dir_all(copy.with_extension("trees")).unwrap();
        std::fs::remove_dir_all(world.path().join("deploys/versions")).unwrap();
        world.restart();
        if number % 2 == 0 {
            world.at("apt").write("VERSION", "2").commit();
        }
        let wanted = world.at("apt").git(&["show", "HEAD:VERSION"]);
        world.deploy("production").await.unwrap();
        assert_eq!(world.files("production")["modules/apt/VERSION"], wanted);
        assert_eq!(leftovers(world.path()), Vec::<String>::new(), "{number}");
    }
}

/// Contents are synced before they get a name, so this simulates a disk that lost acknowledged
/// writes.
#[tokio::test]
async fn power_cut_that_emptied_contents_is_healed_by_the_next_deployment() {
    let mut world = World::new();
    world.module("apt").write("VERSION", "1").commit();
    world.control().write("VERSION", "1");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    world.deploy("production").await.unwrap();
    world.stop();
    truncate(&world.path().join("deploys/content/objects"), true);
    world.restart();
    world.control().write("MORE", "2").commit();
    world.deploy("production").await.unwrap();
    let files = world.files("production");
    let found = ["VERSION", "MORE", "modules/apt/VERSION"].map(|path| files[path].as_str());
    assert_eq!(found, ["1", "2", "1"]);
}

/// Writes an empty object into a copy: git treats it as present, and no reference leads to it.
fn write_empty_object(copy: &Path, id: &str) {
    let path = copy.join("objects").join(&id[..2]).join(&id[2..]);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "").unwrap();
}

#[tokio::test]
async fn power_cut_in_a_fetch_leaves_an_empty_object_and_the_copy_is_made_anew() {
    let (world, copy) = copied().await;
    for (number, kind) in ["HEAD", "HEAD^{tree}", "HEAD:VERSION"].iter().enumerate() {
        let version = format!("{}", number + 2);
        world.at("apt").write("VERSION", &version).commit();
        write_empty_object(&copy, &world.at("apt").git(&["rev-parse", kind]));
        world.deploy("production").await.unwrap();
        assert_eq!(world.files("production")["modules/apt/VERSION"], version);
    }
}

#[tokio::test]
async fn power_cut_in_the_fetch_of_a_commit_without_a_branch_leaves_an_empty_object_too() {
    let (world, copy) = copied().await;
    let apt = world.at("apt");
    apt.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    apt.git(&["checkout", "--quiet", "--detach"]);
    let commit = apt.write("VERSION", "detached").commit();
    apt.git(&["checkout", "--quiet", "production"]);
    write_empty_object(&copy, &commit);
    world.puppetfile(&format!("mod 'apt', git: 'DIR/apt', commit: '{commit}'"));
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "detached");
}

/// Truncates all objects, or removes them.
fn truncate(objects: &Path, is_kept: bool) {
    for entry in std::fs::read_dir(objects).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            truncate(&path, is_kept);
        } else if is_kept {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, "").unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
    }
}
