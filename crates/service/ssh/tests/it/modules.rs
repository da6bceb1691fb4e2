//! Actions besides `run`: placement of files, and `run_with`.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use testkit::peers::sshd::SUDO_PASSWORD;

use crate::world::{Outcome, World};

/// The parameters of a request that puts `content` at `destination`.
fn file(world: &World, content: &[u8], destination: &Path) -> Value {
    let mut source = content;
    let sha256 = world.blobs.store_stream(&mut source, "a test").unwrap();
    json!({
        "files": [{
            "destination": destination, "link_source": "", "kind": "file",
            "sha256": sha256.to_string(), "uri": {"path": "/x", "params": {}},
        }],
        "mode": 0o644,
    })
}

async fn place(world: &mut World, params: Value) -> Outcome {
    let connection = world.connection(json!({}));
    let transaction = world
        .ask_for(&connection, ("file", "download"), params)
        .await;
    world.outcome(&transaction).await
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_file_is_put_in_place_with_its_parents_whatever_it_is_called() {
    let mut world = World::new().await;
    let destination = world.sshd.tmp().join("new/it's $(a) \"deep\" one/-n");
    let bytes = [b"\0\xff bytes\n".as_slice(), &[b'x'; 200_000]].concat();
    let params = file(&world, &bytes, &destination);
    let result = place(&mut world, params).await.result();
    assert_eq!(
        (result.exitcode, result.stdout.as_deref()),
        (0, Some("downloaded")),
        "{result:?}"
    );
    assert_eq!(std::fs::read(&destination).unwrap(), bytes);
    assert_eq!(mode(&destination), 0o644);
    world.runner.wait_idle().await;
    assert_eq!(world.left_behind(), ["new"]);
    let beside = std::fs::read_dir(destination.parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "no temporary file stays");
}

#[tokio::test]
async fn a_file_that_is_there_is_replaced_and_keeps_its_mode() {
    let mut world = World::new().await;
    let destination = world.sshd.tmp().join("there");
    let connection = world.connection(json!({}));
    let line = format!("echo old > {0}; chmod 604 {0}", destination.display());
    world.command(&connection, &line).await.result();
    let params = file(&world, b"new", &destination);
    let result = place(&mut world, params).await.result();
    assert_eq!(result.exitcode, 0, "{result:?}");
    assert_eq!(std::fs::read(&destination).unwrap(), b"new");
    assert_eq!(mode(&destination), 0o604);
}

#[tokio::test]
async fn a_file_whose_content_is_in_the_request_is_put_in_place() {
    let mut world = World::new().await;
    let destination = world.sshd.tmp().join("secret");
    let params = json!({"path": destination, "content": "czNjcmV0", "mode": 0o600});
    let connection = world.connection(json!({}));
    let what = ("file", "place");
    let transaction = world.ask_for(&connection, what, params).await;
    let result = world.outcome(&transaction).await.result();
    assert_eq!(result.exitcode, 0, "{result:?}");
    assert_eq!(std::fs::read(&destination).unwrap(), b"s3cret");
    assert_eq!(mode(&destination), 0o600);
    world.runner.wait_idle().await;
    assert_eq!(world.left_behind(), ["secret"]);
    for (path, content) in [("relative", "eA=="), ("/tmp/", "eA=="), ("/tmp/x", "?")] {
        let params = json!({"path": path, "content": content, "mode": 0o600});
        let transaction = world.ask_for(&connection, what, params).await;
        let error = world.outcome(&transaction).await.error();
        assert!(
            error.contains("absolute path") || error.contains("Base64"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_is_no_file_is_left_alone() {
    let mut world = World::new().await;
    let target = world.sshd.tmp().join("target");
    let link = world.sshd.tmp().join("link");
    std::fs::write(&target, "kept").unwrap();
    symlink(&target, &link).unwrap();
    for destination in [link, world.sshd.tmp()] {
        let params = file(&world, b"new", &destination);
        let result = place(&mut world, params).await.result();
        let words = result.stderr.unwrap();
        assert!(words.contains("exists and is not a file"), "{words}");
        assert_eq!(result.exitcode, 1);
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"kept");
    for destination in ["relative", "/ends/with/", "/nul/\0"] {
        let params = file(&world, b"new", Path::new(destination));
        let error = place(&mut world, params).await.error();
        assert!(
            error.contains("absolute path") || error.contains("NUL"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_directory_is_put_in_place_with_its_modes() {
    let mut world = World::new().await;
    let top = world.sshd.tmp().join("it's an app");
    let put = |text: &str| {
        let kept = world
            .blobs
            .store_stream(&mut text.as_bytes(), "a test")
            .unwrap();
        kept.to_string()
    };
    let uri = json!({"path": "/x", "params": {}});
    let item = |path: &str, sha256: &str, mode: Option<u32>| {
        let kind = if sha256.is_empty() {
            "directory"
        } else {
            "file"
        };
        json!({
            "destination": top.join(path), "link_source": "", "kind": kind, "sha256": sha256,
            "uri": uri, "mode": mode,
        })
    };
    let files = [
        item("conf", "", Some(0o700)),
        item("conf/deep", "", None),
        item("conf/deep/a", &put("a"), None),
        item("run me", &put("#!/bin/sh\necho ran\n"), Some(0o4755)),
    ];
    let params = json!({"files": files, "mode": 0o644});
    for _ in 0..2 {
        let result = place(&mut world, params.clone()).await.result();
        assert_eq!(result.stdout.as_deref(), Some("downloaded"), "{result:?}");
    }
    for (path, expected) in [
        ("conf", 0o700),
        ("conf/deep", 0o755),
        ("conf/deep/a", 0o644),
        ("run me", 0o755),
    ] {
        assert_eq!(mode(&top.join(path)), expected, "{path}");
    }
    let read = |path| std::fs::read_to_string(top.join(path)).unwrap();
    assert_eq!(
        (read("conf/deep/a"), read("run me").len()),
        ("a".to_owned(), 19)
    );

    let over_file = json!({"files": [item("run me", "", None)]});
    let result = place(&mut world, over_file).await.result();
    let words = result.stderr.unwrap();
    assert!(words.contains("exists and is not a directory"), "{words}");
}

#[tokio::test]
async fn run_with_is_another_user_with_variables() {
    let mut world = World::new().await;
    let connection = world.connection(json!({
        "run-as": "root", "sudo-password": SUDO_PASSWORD,
    }));
    let script = world.blobs.store_stream(
        &mut "#!/bin/sh\necho \"$SUDO_AS $WHO $1\"\n".as_bytes(),
        "a test",
    );
    let script = json!({
        "filename": "m/say.sh", "sha256": script.unwrap().to_string(),
        "uri": {"path": "/x", "params": {}},
    });
    let line = "echo \"$SUDO_AS $WHO a b\"";
    for (module, run) in [
        ("command", json!({"command": line})),
        ("script", json!({"script": script, "arguments": ["a b"]})),
    ] {
        let params = json!({"run": run, "run_as": "web", "env": {"WHO": "it's me"}});
        let transaction = world
            .ask_for(&connection, (module, "run_with"), params)
            .await;
        let result = world.outcome(&transaction).await.result();
        assert_eq!(
            result.stdout.as_deref(),
            Some("web it's me a b\n"),
            "{module}"
        );
    }
    let task = world.task(
        "#!/bin/sh\necho \"$SUDO_AS $PT_name\"",
        json!({"name": "x"}),
        "both",
    );
    let params = json!({"run": task, "run_as": "web"});
    let transaction = world
        .ask_for(&connection, ("task", "run_with"), params)
        .await;
    let result = world.outcome(&transaction).await.result();
    assert_eq!(result.stdout.as_deref(), Some("web x\n"));
    world.runner.wait_idle().await;
    assert_eq!(world.left_behind(), Vec::<String>::new());
}

#[tokio::test]
async fn a_user_that_cannot_be_become_runs_nothing() {
    let mut world = World::new().await;
    // Without a password for sudo.
    let connection = world.connection(json!({}));
    let left = world.sshd.tmp().join("left");
    let command = json!({"command": format!("touch {}", left.display())});
    let params = json!({"run": command, "run_as": "web"});
    let transaction = world
        .ask_for(&connection, ("command", "run_with"), params)
        .await;
    let error = world.outcome(&transaction).await.error();
    assert!(error.contains("a password is required"), "{error}");
    for params in [
        json!({"run": command, "env": {"A B": "x"}}),
        json!({"run": command, "env": {"A": "x\0"}}),
        json!({"run": command, "umask": "022"}),
    ] {
        let transaction = world
            .ask_for(&connection, ("command", "run_with"), params)
            .await;
        world.outcome(&transaction).await.error();
    }
    assert!(!left.exists());
}
