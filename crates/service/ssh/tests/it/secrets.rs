//! A13: every secret contains a canary, which must appear nowhere.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use ssh::DuplicatePolicy;
use testkit::peers::sshd::SUDO_PASSWORD;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::world::{World, certname};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// All the files below a directory.
fn files(directory: &std::path::Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
}

fn has(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

#[tokio::test]
async fn a13_no_secret_is_in_a_log_a_command_line_an_error_or_on_the_disk() {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish()
        .init();
    let mut world = World::new().await;
    let key = world.sshd.private_key().unwrap();
    // A piece of the key itself.
    let piece = key.lines().nth(3).unwrap().to_owned();
    let canary = "canary-7f3a";
    let connection = world.connection(json!({
        "password": canary, "run-as": "root", "sudo-password": SUDO_PASSWORD,
    }));
    let names = [certname()];
    let created = world
        .connections
        .create(&names, connection.clone(), DuplicatePolicy::Error);
    created.await.unwrap();
    // Every command line of the host, while the task has its secret parameter.
    let script = "#!/bin/sh\n[ -n \"$PT_secret\" ] || exit 9\ncat > /dev/null\n\
                  for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done";
    let input = json!({"secret": canary});
    let result = world
        .run_task(&connection, script, input, "both")
        .await
        .result();
    assert_eq!(result.exitcode, 0);
    let lines = result.stdout.unwrap();
    assert!(lines.contains("sshd"), "the list is of the host");
    let wrong = world.connection(json!({
        "private-key-content": null, "password": canary, "sudo-password": canary,
    }));
    let refused = world.command(&wrong, "true").await.error();
    let sudo = world.connection(json!({"run-as": "root", "sudo-password": canary}));
    let not_let_through = world.command(&sudo, "true").await.error();
    world.runner.wait_idle().await;

    let debug = format!("{connection:?} {:?} {:?}", world.connections, world.runner);
    let mut places = vec![
        ("command lines".to_owned(), lines.into_bytes()),
        (
            "errors".to_owned(),
            (refused + &not_let_through).into_bytes(),
        ),
        ("debug".to_owned(), debug.into_bytes()),
        ("log".to_owned(), log.0.lock().unwrap().clone()),
    ];
    assert!(!places[3].1.is_empty(), "the log was listened to");
    files(world.directory.path(), &mut places);
    files(&world.sshd.tmp(), &mut places);
    assert!(
        places
            .iter()
            .any(|(name, _)| name.ends_with("db-wal") || name.ends_with("/db"))
    );
    for (name, bytes) in &places {
        for secret in [canary, SUDO_PASSWORD, piece.as_str()] {
            assert!(!has(bytes, secret), "{secret} is in {name}");
        }
    }
}
