//! `tutti reset-admin-password`, with and without a running server.

use std::os::unix::fs::PermissionsExt as _;

use testkit::client::Client;
use tokio::process::Command;

use crate::world::World;

/// Runs the command; returns its success and output.
async fn reset(world: &World, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tutti"));
    command.arg("reset-admin-password").args(arguments);
    command.arg("--config").arg(world.root().join("tutti.toml"));
    let output = command.output().await.unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.success(), text)
}

#[tokio::test]
async fn a_lost_password_of_admin_is_set_anew_and_its_sessions_end() {
    let mut world = World::start(&[]).await;
    let file = world.installation.data_dir().join("admin-password");
    let jobs = "/orchestrator/v1/jobs";
    let first = std::fs::read_to_string(&file).unwrap();
    let (done, text) = reset(&world, &[]).await;
    assert!(done && text.contains("admin-password"), "{text}");
    let second = std::fs::read_to_string(&file).unwrap();
    assert_ne!(first, second);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    world.client.get(jobs).await.unwrap_err();
    world.client = Client::login(&world.installation).await.unwrap();
    let audit = "/audit/v1/entries?start=1&limit=100";
    let entries = world.client.get(audit).await.unwrap().to_string();
    for action in ["user_reset", "auth_reset"] {
        assert!(entries.contains(action), "{entries}");
    }
    assert!(!entries.contains(second.trim()), "{entries}");

    world.kill_server().await;
    let own = world.root().join("own-password");
    std::fs::write(&own, "a password of my own\n").unwrap();
    let own = own.display().to_string();
    let (done, text) = reset(&world, &["--password-file", &own]).await;
    assert!(done, "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), second);
    world.start_server().await;
    world.client.get(jobs).await.unwrap_err();
    std::fs::write(&file, "a password of my own\n").unwrap();
    world.client = Client::login(&world.installation).await.unwrap();
    let entries = world.client.get(audit).await.unwrap().to_string();
    assert!(entries.contains("reset_admin_password"), "{entries}");

    let short = world.root().join("short");
    std::fs::write(&short, "short\n").unwrap();
    let (done, text) = reset(&world, &["--password-file", &short.display().to_string()]).await;
    assert!(!done && text.contains("has less than"), "{text}");
    world.client.get(jobs).await.unwrap();
    world.stop().await;
}
