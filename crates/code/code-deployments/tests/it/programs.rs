//! Programs in the settings: filters of branches, and Puppet.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use code_settings::{DeploymentSettings, GenerateTypes};

use crate::world::World;

fn filtered(command: &'static str) -> World {
    let world = World::with(move |settings: &mut DeploymentSettings| {
        let mut source = settings.sources[0].as_ref().clone();
        source.filter_command = Some(command.to_owned());
        settings.sources = vec![Arc::new(source)];
    });
    world.control().write("VERSION", "1").commit();
    world.control().git(&["branch", "draft_x"]);
    world
}

async fn names(world: &World) -> Result<Vec<String>, String> {
    let round = world.deployer().start_round();
    let found = world.deployer().list_environments(&round).await;
    let found = found.map_err(|error| error.to_string())?.by_name;
    Ok(found.keys().map(|name| name.as_str().to_owned()).collect())
}

#[tokio::test]
async fn a_filter_says_which_branches_are_environments() {
    let world = filtered(
        r#"test "$R10K_NAME" = main && git rev-parse --verify --quiet "refs/heads/$R10K_BRANCH" &&
           case "$R10K_BRANCH" in draft_*) exit 1;; esac"#,
    );
    assert_eq!(names(&world).await.unwrap(), ["production"]);
}

#[tokio::test]
async fn a_filter_that_does_not_run_drops_nothing() {
    for command in ["/nowhere/filter", "kill -9 $$"] {
        let error = names(&filtered(command)).await.unwrap_err();
        assert!(
            error.contains("the source main: the filter_command does not say"),
            "{error}"
        );
    }
}

/// Creates a world whose Puppet is this script.
fn generating(directory: &Path, script: &str) -> World {
    let puppet: PathBuf = directory.join("puppet");
    std::fs::write(&puppet, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&puppet, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = World::with(move |settings: &mut DeploymentSettings| {
        settings.generate_types = Some(GenerateTypes {
            puppet: puppet.clone(),
            conf: "/puppet.conf".into(),
        });
    });
    world.control().write("VERSION", "1").commit();
    world
}

#[tokio::test]
async fn types_are_there_before_the_version_is_live() {
    let directory = tempfile::tempdir().unwrap();
    let world = generating(
        directory.path(),
        r#"test "$*" = "generate types --environment production --environmentpath $6 --config /puppet.conf" &&
           test -e "$6/production/VERSION" && mkdir "$6/production/.resource_types" &&
           echo x > "$6/production/.resource_types/a.pp""#,
    );
    let built = world.deploy("production").await.unwrap();
    assert!(built.lock.generated_types);
    assert_eq!(world.files("production")[".resource_types/a.pp"], "x\n");
}

#[tokio::test]
async fn types_that_a_disk_damaged_are_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let types = r#"mkdir "$6/production/.resource_types" &&
        echo right > "$6/production/.resource_types/a.pp""#;
    let mut world = generating(directory.path(), types);
    // A file of the repository with the list's name is replaced, and its stored content does not
    // change.
    world
        .control()
        .write(".tutti-generated-types.json", "{}")
        .commit();
    world.deploy("production").await.unwrap();
    for (path, damage) in [
        (".resource_types/a.pp", "wrong\n"),
        (".tutti-generated-types.json", ""),
    ] {
        let live = world.live("production").canonicalize().unwrap();
        std::fs::write(live.join(path), damage).unwrap();
        world.restart();
        let built = world.deploy("production").await.unwrap();
        assert_eq!(built.healed, [path]);
        assert_eq!(world.files("production")[".resource_types/a.pp"], "right\n");
        world.restart();
        let built = world.deploy("production").await.unwrap();
        assert_eq!(built.healed, [""; 0]);
    }
}

#[tokio::test]
async fn without_types_nothing_goes_live() {
    let directory = tempfile::tempdir().unwrap();
    let world = generating(directory.path(), "echo 'no such type' >&2; exit 1");
    let error = world.deploy("production").await.unwrap_err().to_string();
    assert!(
        error.contains("puppet generate types: exit status: 1: no such type"),
        "{error}"
    );
    assert!(!world.live("production").exists());
    assert_eq!(world.deployer().versions().all_versions().unwrap().len(), 0);
}
