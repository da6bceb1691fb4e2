//! The live files after a deployment.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use code_store::version_lock::ModuleOrigin;

use crate::world::{World, name};

#[tokio::test]
async fn an_environment_is_its_branch_and_its_modules() {
    let world = World::new();
    let module = world.module("apt");
    module
        .write("manifests/init.pp", "class apt {}\n")
        .write("spec/x_spec.rb", "fails\n");
    let commit = module.commit();
    let control = world.control();
    control
        .write("site/manifests/site.pp", "node default {}\n")
        .write("hiera.yaml", "version: 5\n");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    let built = world.deploy("production").await.unwrap();
    assert!(!built.existed_before);
    let files = world.files("production");
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "Puppetfile",
            "hiera.yaml",
            "modules/apt/manifests/init.pp",
            "site/manifests/site.pp"
        ]
    );
    assert_eq!(files["modules/apt/manifests/init.pp"], "class apt {}\n");
    let ModuleOrigin::Git { commit: locked, .. } = &built.lock.modules[0].origin else {
        panic!("{built:?}");
    };
    assert_eq!(*locked, commit);
    let target = std::fs::read_link(world.live("production")).unwrap();
    assert!(target.is_absolute());
    let expected = format!("production_{}", built.signature);
    assert_eq!(target.file_name().unwrap().to_str().unwrap(), expected);
    assert_eq!(
        world
            .deployer()
            .versions()
            .live_version(&name("production")),
        Some(built.signature)
    );
}

#[tokio::test]
async fn nothing_new_is_nothing_to_do_and_a_new_commit_is_a_new_version() {
    let mut world = World::new();
    let module = world.module("apt");
    module.write("VERSION", "1").commit();
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    let first = world.deploy("production").await.unwrap();
    let again = world.deploy("production").await.unwrap();
    assert!(again.existed_before);
    assert_eq!(again.signature, first.signature);
    module.write("VERSION", "2").commit();
    let second = world.deploy("production").await.unwrap();
    assert_ne!(second.signature, first.signature, "a module alone changed");
    assert_eq!(world.files("production")["modules/apt/VERSION"], "2");
    world.restart();
    assert!(world.deploy("production").await.unwrap().existed_before);
    // The rollback needs no repository.
    world
        .deployer()
        .switch(&first.environment, &first.signature)
        .await
        .unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "1");
}

#[tokio::test]
async fn versions_share_their_files_and_nobody_may_write_to_them() {
    let world = World::new();
    world.module("apt").write("files/big", "the same").commit();
    world.puppetfile("mod 'apt', git: 'DIR/apt', ref: 'production'");
    world.control().git(&["branch", "other"]);
    let run = world.control().path.join("run.sh");
    std::fs::write(&run, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.control().commit();
    world.deploy("production").await.unwrap();
    world.deploy("other").await.unwrap();
    let inode = |environment: &str, path: &str| {
        std::fs::metadata(world.live(environment).join(path)).unwrap()
    };
    let one = inode("production", "modules/apt/files/big");
    assert_eq!(one.ino(), inode("other", "modules/apt/files/big").ino());
    assert_eq!(one.mode() & 0o777, 0o444);
    assert_eq!(inode("production", "run.sh").mode() & 0o777, 0o555);
}

#[tokio::test]
async fn all_ways_to_name_a_commit() {
    let world = World::new();
    let module = world.module("m");
    let first = module.write("VERSION", "1").commit();
    module.git(&["tag", "v1"]);
    module.write("VERSION", "2").commit();
    module.git(&["tag", "--annotate", "--message=two", "v2"]);
    module.git(&["branch", "develop"]);
    module.write("VERSION", "3").commit();
    let short = &first[..10];
    for (options, version) in [
        ("tag: 'v1'", "1"),
        ("tag: 'v2'", "2"),
        ("ref: 'v2'", "2"),
        ("branch: 'develop'", "2"),
        ("ref: 'develop'", "2"),
        ("branch: :control_branch", "3"),
        ("branch: 'nowhere', default_branch: 'develop'", "2"),
        (&format!("commit: '{first}'"), "1"),
        (&format!("ref: '{short}'"), "1"),
    ] {
        world.puppetfile(&format!("mod 'm', git: 'DIR/m', {options}"));
        world.deploy("production").await.unwrap();
        assert_eq!(
            world.files("production")["modules/m/VERSION"],
            version,
            "{options}"
        );
    }
}

#[tokio::test]
async fn a_commit_that_is_here_needs_no_repository() {
    let world = World::new();
    let module = world.module("m");
    let commit = module.write("VERSION", "1").commit();
    module.git(&["tag", "v1"]);
    world.puppetfile(&format!("mod 'm', git: 'DIR/m', commit: '{commit}'"));
    world.deploy("production").await.unwrap();
    std::fs::rename(&module.path, world.path().join("away")).unwrap();
    world.puppetfile("mod 'm', git: 'DIR/m', tag: 'v1', exclude_spec: false");
    let built = world.deploy("production").await.unwrap();
    assert!(!built.existed_before);
}

#[tokio::test]
async fn a_module_has_its_directory_for_itself_and_nothing_else_goes() {
    let world = World::new();
    world.module("apt").write("VERSION", "1").commit();
    let control = world.control();
    control
        .write("modules/apt/OLD", "x")
        .write("modules/mine/x", "x")
        .write("modules/kept/x", "x");
    world.puppetfile("mod 'apt', git: 'DIR/apt', ref: 'production'\nmod 'kept', local: true");
    let built = world.deploy("production").await.unwrap();
    let files = world.files("production");
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "Puppetfile",
            "modules/apt/VERSION",
            "modules/kept/x",
            "modules/mine/x"
        ]
    );
    assert_eq!(built.omitted_directories, ["modules/apt"]);
    // A module that the Puppetfile no longer names is removed.
    world.puppetfile("mod 'kept', local: true");
    std::fs::remove_dir_all(control.path.join("modules/apt")).unwrap();
    control.commit();
    world.deploy("production").await.unwrap();
    assert!(!world.live("production").join("modules/apt").exists());
}

#[tokio::test]
async fn a_directory_that_another_tool_left_is_kept_aside() {
    let world = World::new();
    world.control().write("VERSION", "1").commit();
    std::fs::create_dir_all(world.live("production")).unwrap();
    std::fs::write(world.live("production").join("OLD"), "x").unwrap();
    let built = world.build("production").await.unwrap();
    let switched = world
        .deployer()
        .switch(&built.environment, &built.signature)
        .await
        .unwrap();
    let aside = switched.moved_aside.unwrap();
    assert_eq!(std::fs::read_to_string(aside.join("OLD")).unwrap(), "x");
    assert_eq!(world.files("production")["VERSION"], "1");
}

#[tokio::test]
async fn branches_are_environments() {
    let world = World::new();
    world.control().write("VERSION", "1").commit();
    for branch in ["feature/ABC-1", "feature_ABC_1", "x"] {
        world.control().git(&["branch", branch]);
    }
    let round = world.deployer().start_round();
    let environments = world.deployer().list_environments(&round).await.unwrap();
    let names: Vec<&str> = environments
        .by_name
        .keys()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(names, ["feature_ABC_1", "production", "x"]);
    let refused = environments.errors[0].to_string();
    assert!(
        refused.contains("\"feature_ABC_1\"") && refused.contains("already"),
        "{refused}"
    );
    world.deploy("x").await.unwrap();
    world.deploy("production").await.unwrap();
    let all = world.deployer().versions().live_environments().unwrap();
    assert_eq!(all.len(), 2);
    assert!(world.deployer().versions().remove(&name("x")).unwrap());
    assert!(!world.live("x").exists());
    assert!(world.live("production").exists());
}
