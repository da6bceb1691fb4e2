//! Deployments that fail: the live version stays, and the error names the module and the reason.

use crate::world::World;

/// Creates a live environment with one module.
async fn live() -> World {
    let world = World::new();
    world.module("apt").write("VERSION", "1").commit();
    let text = format!(
        "mod 'apt', git: '{}/apt', branch: 'production'\n",
        world.path().display()
    );
    world
        .control()
        .write("Puppetfile", &text)
        .write("VERSION", "1")
        .commit();
    world.deploy("production").await.unwrap();
    world
}

/// Adds a line to the Puppetfile, and returns the error of the deployment.
async fn fails(world: &World, line: &str) -> String {
    let before = world.files("production");
    let path = world.control().path.join("Puppetfile");
    let mut text = std::fs::read_to_string(path).unwrap();
    text += &line.replace("DIR", &world.path().display().to_string());
    world
        .control()
        .write("Puppetfile", &text)
        .write("VERSION", "2")
        .commit();
    world.module("apt").write("VERSION", "2").commit();
    let error = world.deploy("production").await.unwrap_err().to_string();
    assert_eq!(world.files("production"), before, "{error}");
    error
}

#[tokio::test]
async fn a_puppetfile_that_makes_no_sense() {
    let said = fails(&live().await, "if true\nmod 'x'\nend\n").await;
    assert!(
        said.contains("Puppetfile of the branch production: line 2"),
        "{said}"
    );
}

#[tokio::test]
async fn a_ref_that_is_not_there() {
    let world = live().await;
    world.module("ntp").write("VERSION", "1").commit();
    let said = fails(&world, "mod 'ntp', git: 'DIR/ntp', tag: 'v9'\n").await;
    assert!(said.contains("module ntp: "), "{said}");
    assert!(said.contains("has no tag v9"), "{said}");
    let said = fails(
        &world,
        "mod 'n2', git: 'DIR/ntp', ref: 'x', default_branch: 'y'\n",
    )
    .await;
    assert!(said.contains("nor its default branch y"), "{said}");
}

#[tokio::test]
async fn all_modules_that_fail_are_told() {
    let world = live().await;
    let said = fails(
        &world,
        "mod 'a', git: 'DIR/a', ref: 'x'\nmod 'b', git: 'DIR/b', ref: 'x'\n",
    )
    .await;
    assert!(said.contains("module a: git fetch of"), "{said}");
    assert!(said.contains("module b: "), "{said}");
}

#[tokio::test]
async fn a_module_without_a_ref_needs_a_default() {
    let world = live().await;
    world.module("ntp").write("VERSION", "1").commit();
    let said = fails(&world, "mod 'ntp', git: 'DIR/ntp'\n").await;
    assert!(
        said.contains("line 2 of the Puppetfile names no branch"),
        "{said}"
    );
}

#[tokio::test]
async fn manifests_that_do_not_parse() {
    let world = live().await;
    let ntp = world.module("ntp");
    ntp.write(
        "manifests/init.pp",
        "class ntp {\n  file { 'x' ensure => file }\n}\n",
    );
    ntp.write("spec/fixtures/broken.pp", "class {").commit();
    let said = fails(&world, "mod 'ntp', git: 'DIR/ntp', ref: 'production'\n").await;
    assert!(
        said.contains("ntp: manifests that do not parse: manifests/init.pp:2:"),
        "{said}"
    );
    assert!(!said.contains("broken.pp"), "{said}");
    // The repeated deployment fails too, although the content is stored by now.
    let said = world.deploy("production").await.unwrap_err().to_string();
    assert!(said.contains("do not parse"), "{said}");
    ntp.write("manifests/init.pp", "class ntp { }\n").commit();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["VERSION"], "2");
}

#[tokio::test]
async fn a_local_module_that_is_not_there() {
    let said = fails(&live().await, "mod 'mine', local: true\n").await;
    assert!(said.contains("has no modules/mine"), "{said}");
}

#[tokio::test]
async fn a_control_repository_that_is_away() {
    let world = live().await;
    let away = world.path().join("away");
    std::fs::rename(world.control().path, &away).unwrap();
    let round = world.deployer().start_round();
    let error = world
        .deployer()
        .list_environments(&round)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the source main: git ls-remote of"),
        "{error}"
    );
    assert_eq!(world.files("production")["VERSION"], "1");
    std::fs::rename(&away, world.control().path).unwrap();
    world.deploy("production").await.unwrap();
}

#[tokio::test]
async fn content_that_is_gone_is_brought_again() {
    let world = live().await;
    for entry in std::fs::read_dir(world.path().join("deploys/content/objects")).unwrap() {
        for object in std::fs::read_dir(entry.unwrap().path()).unwrap() {
            std::fs::remove_file(object.unwrap().path()).unwrap();
        }
    }
    world.control().write("VERSION", "2").commit();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "1");
}

#[tokio::test]
async fn what_an_interrupted_deployment_left_is_removed() {
    let mut world = live().await;
    let deploys = world.path().join("deploys");
    let left = [
        deploys.join("content/incoming/tree-x"),
        deploys.join("versions/.incoming-x"),
        world.path().join("code/environments/.incoming-x"),
    ];
    for path in &left {
        std::fs::create_dir_all(path.join("deep")).unwrap();
    }
    world.restart();
    for path in &left {
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(world.files("production")["VERSION"], "1");
}
