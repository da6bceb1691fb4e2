//! Malicious repositories.

use crate::world::{Repository, World};

async fn refused(world: &World) -> String {
    let error = world.deploy("production").await.unwrap_err().to_string();
    assert!(!world.live("production").exists(), "{error}");
    error
}

#[tokio::test]
async fn links_that_leave_the_tree() {
    for target in ["/etc/passwd", "../x", "a/../../x"] {
        let world = World::new();
        let control = world.control();
        std::os::unix::fs::symlink(target, control.path.join("link")).unwrap();
        control.commit();
        let said = refused(&world).await;
        assert!(
            said.contains("link is a link that leaves its tree"),
            "{said}"
        );
    }
    let world = World::new();
    world.control().write("a/x", "1");
    std::os::unix::fs::symlink("../a/x", world.control().path.join("a/link")).unwrap();
    world.control().commit();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["a/link"], "-> ../a/x");
}

#[tokio::test]
async fn submodules_are_not_followed() {
    let world = World::new();
    let commit = world.module("other").write("x", "1").commit();
    let control = world.control();
    control.write("y", "1").commit();
    let cacheinfo = format!("160000,{commit},sub");
    control.git(&["update-index", "--add", "--cacheinfo", &cacheinfo]);
    control.git(&["commit", "--quiet", "--message=sub"]);
    let said = refused(&world).await;
    assert!(said.contains("sub is a submodule"), "{said}");
}

/// Creates a tree that git itself would refuse to create.
fn tree(control: &Repository, name: &str) {
    let blob = control.git(&["rev-parse", "HEAD:x"]);
    let mut bytes = format!("100644 {name}\0").into_bytes();
    for pair in 0..blob.len() / 2 {
        bytes.push(u8::from_str_radix(&blob[pair * 2..pair * 2 + 2], 16).unwrap());
    }
    let file = control.path.join(".git/tree");
    std::fs::write(&file, bytes).unwrap();
    let file = file.display().to_string();
    let tree = control.git(&["hash-object", "-t", "tree", "-w", "--literally", &file]);
    let commit = control.git(&["commit-tree", "-m", "x", &tree]);
    control.git(&["update-ref", "refs/heads/production", &commit]);
}

#[tokio::test]
async fn paths_that_leave_the_tree() {
    for name in ["..", ".git", ".GIT"] {
        let world = World::new();
        let control = world.control();
        control.write("x", "1").commit();
        tree(&control, name);
        let said = refused(&world).await;
        assert!(
            said.contains("no name") || said.contains("git's own"),
            "{name}: {said}"
        );
    }
}

#[tokio::test]
async fn nothing_of_a_repository_is_run() {
    let world = World::new();
    let ran = world.path().join("ran");
    let control = world.control();
    let script = format!("#!/bin/sh\ntouch {}\n", ran.display());
    for hook in [
        "post-checkout",
        "post-update",
        "pre-receive",
        "reference-transaction",
        "upload-pack",
    ] {
        control.write(&format!(".git/hooks/{hook}"), &script);
        let path = control.path.join(".git/hooks").join(hook);
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let filter = format!("touch {}; cat", ran.display());
    control
        .write(".gitattributes", "* filter=evil export-ignore\n")
        .write("x", "1")
        .commit();
    control.git(&["config", "filter.evil.smudge", &filter]);
    std::fs::remove_file(&ran).ok();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["x"], "1");
    assert!(!ran.exists());
}

#[tokio::test]
async fn branches_and_names_that_look_like_paths_and_options() {
    let world = World::new();
    let control = world.control();
    control.write("x", "1").commit();
    control.git(&["update-ref", "refs/heads/-x", "HEAD"]);
    control.git(&["branch", "a/b"]);
    let said = world.found("_x").await;
    assert_eq!(said.branch, "-x");
    world.deploy("_x").await.unwrap();
    world.deploy("a_b").await.unwrap();
    control
        .write(
            "Puppetfile",
            "mod 'x', git: 'ext::sh -c true', ref: 'main'\n",
        )
        .commit();
    let said = refused(&world).await;
    assert!(said.contains("no address of a repository"), "{said}");
}

#[tokio::test]
async fn names_that_are_not_utf_8_are_kept() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let control = world.control();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(control.path.join(name), "x").unwrap();
    control.write("line\nend", "y").commit();
    world.deploy("production").await.unwrap();
    assert!(world.live("production").join(name).exists());
    assert!(world.live("production").join("line\nend").exists());
}
