//! Runs that are cancelled, lose their connection, are refused by sudo, or leave processes behind.

use std::path::Path;
use std::time::{Duration, Instant};

use pxp::action::TransactionStatus;
use pxp::{PxpMessageBody, TransactionId};
use serde_json::json;
use testkit::peers::sshd::SUDO_PASSWORD;

use crate::world::{World, certname};

/// Starts a run that does not end by itself, and waits until its command runs.
async fn endless(world: &World, more: serde_json::Value, first: &str) -> TransactionId {
    let begun = world.sshd.tmp().join("begun");
    let line = format!(
        "{first} echo $$ > {0}.new; mv {0}.new {0}; sleep 300 & sleep 300; sleep 300",
        begun.display()
    );
    let connection = world.connection(more);
    let transaction = world
        .ask(&connection, "command", json!({"command": line}))
        .await;
    appears(&begun).await;
    transaction
}

/// Waits for a file by polling.
async fn appears(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !path.exists() {
        assert!(
            Instant::now() < deadline,
            "{} does not appear",
            path.display()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The processes whose group is that of the run.
fn alive(world: &World) -> usize {
    let leader = std::fs::read_to_string(world.sshd.tmp().join("begun")).unwrap();
    let leader = leader.trim();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let stats =
        processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let mut fields = stat.rsplit(") ").next().unwrap().split(' ');
            let state = fields.next().unwrap();
            state != "Z" && fields.nth(1) == Some(leader)
        })
        .count()
}

/// Waits until all processes of the run have ended: even SIGKILL takes time on a busy machine.
async fn gone(world: &World) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while alive(world) > 0 {
        assert!(Instant::now() < deadline, "something of the run is left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn cancel(world: &World, transaction: &TransactionId) {
    let body = PxpMessageBody::Cancel {
        transaction_id: transaction.clone(),
        force: false,
    };
    world.send(&certname(), body).await;
}

#[tokio::test]
async fn a_stopped_run_ends_with_everything_that_it_started() {
    for more in [
        json!({}),
        json!({"tty": true}),
        json!({"run-as": "root", "sudo-password": SUDO_PASSWORD}),
    ] {
        let mut world = World::new().await;
        let transaction = endless(&world, more.clone(), "").await;
        assert_eq!(
            world.status(&transaction).await.status,
            TransactionStatus::Running
        );
        cancel(&world, &transaction).await;
        let result = world.outcome(&transaction).await.result();
        assert!(result.cancelled, "{more}: {result:?}");
        assert_ne!(result.exitcode, 0, "{more}: {result:?}");
        assert_eq!(alive(&world), 0, "{more}");
        std::fs::remove_file(world.sshd.tmp().join("begun")).unwrap();
        world.runner.wait_idle().await;
        assert_eq!(world.left_behind(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_run_that_does_not_want_to_end_is_killed() {
    let mut world = World::new().await;
    let transaction = endless(&world, json!({}), "trap '' TERM;").await;
    cancel(&world, &transaction).await;
    let result = world.outcome(&transaction).await.result();
    assert!(result.cancelled);
    assert_eq!((result.exitcode, result.signal), (137, Some(9)));
    gone(&world).await;
}

#[tokio::test]
async fn a_run_that_is_stopped_before_it_starts_does_not_start() {
    let mut world = World::new().await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let connection = world.connection(json!({"port": port, "connect-timeout": 300}));
    let transaction = world
        .ask(&connection, "command", json!({"command": "true"}))
        .await;
    cancel(&world, &transaction).await;
    let error = world.outcome(&transaction).await.error();
    // The text depends on the moment of the cancellation; the run did not start in either case.
    let told = ["cancelled before it started", "cancelled while it waited"];
    assert!(told.iter().any(|words| error.contains(words)), "{error}");
}

#[tokio::test]
async fn a_connection_that_is_lost_leaves_the_outcome_unknown() {
    let mut world = World::new().await;
    let transaction = endless(&world, json!({}), "").await;
    world.sshd.kill();
    let error = world.outcome(&transaction).await.error();
    assert!(error.starts_with("the outcome is not known"), "{error}");
    assert!(error.contains("it may still run"), "{error}");
    assert_eq!(
        world.status(&transaction).await.status,
        TransactionStatus::Unknown
    );
    let leader = std::fs::read_to_string(world.sshd.tmp().join("begun")).unwrap();
    let group = rustix::process::Pid::from_raw(leader.trim().parse().unwrap()).unwrap();
    // The processes are still alive, as the error announces.
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn after_a_restart_nothing_is_claimed_of_earlier_runs() {
    let mut world = World::new().await;
    let transaction = endless(&world, json!({}), "").await;
    world.runner.shutdown().await;
    let config = ssh::SshConfig::new(ssh::HostKeys::new(world.known_hosts(), Default::default()));
    let (connections, blobs) = (world.connections.clone(), world.blobs.clone());
    world.runner = ssh::SshRunner::start(config, &world.fabric, connections, blobs);
    let status = world.status(&transaction).await;
    assert_eq!(
        (status.status, status.spool_id),
        (TransactionStatus::Unknown, None)
    );
    let presence = world.fabric.agentless_presence().unwrap();
    assert_eq!(
        presence.capabilities.unwrap().spool_id,
        None,
        "so it is never sent again"
    );
    let leader = std::fs::read_to_string(world.sshd.tmp().join("begun")).unwrap();
    let group = rustix::process::Pid::from_raw(leader.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn another_user_runs_it_behind_the_right_password() {
    let mut world = World::new().await;
    let script = "#!/bin/sh\necho \"$SUDO_AS:$PT_name\"; cat";
    for tty in [false, true] {
        let connection = world.connection(
            json!({"run-as": "it'sme", "sudo-password": SUDO_PASSWORD, "tty": tty}).clone(),
        );
        let input = json!({"name": "x"});
        let result = world
            .run_task(&connection, script, input, "both")
            .await
            .result();
        let text = result.stdout.unwrap();
        assert!(text.starts_with("it'sme:x\n{"), "{text}");
        assert!(!text.contains(SUDO_PASSWORD), "{text}");
        assert_eq!(result.stderr, None, "the dialog is no output of the task");
    }
    world.runner.wait_idle().await;
    assert_eq!(world.left_behind(), Vec::<String>::new());
}

#[tokio::test]
async fn what_sudo_refuses_is_not_run_and_said_in_its_words() {
    let mut world = World::new().await;
    let with = |world: &World, more| world.connection(more);
    let wrong = with(&world, json!({"run-as": "root", "sudo-password": "canary"}));
    let error = world.command(&wrong, "true").await.error();
    assert!(error.contains("does not take the sudo-password"), "{error}");
    assert!(!error.contains("canary"), "{error}");
    let none = with(&world, json!({"run-as": "root"}));
    let error = world.command(&none, "true").await.error();
    assert!(error.contains("a password is required"), "{error}");
    let other = with(
        &world,
        json!({"run-as": "root", "run-as-command": ["no-such-program", "-u"]}),
    );
    let error = world.command(&other, "true").await.error();
    assert!(error.contains("not found"), "{error}");
    let own = with(
        &world,
        json!({"run-as": "who", "run-as-command": ["env", "-u", "HOME", "sh", "-c", "me=$1; shift; AS=$me exec \"$@\"", "x"]}),
    );
    let result = world.command(&own, "echo $AS").await.result();
    assert_eq!(result.stdout.as_deref(), Some("who\n"));
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let mut world = World::new().await;
    let connection = world.connection(json!({"tmpdir": "/no/such/place"}));
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("made no directory"), "{error}");
    assert!(error.contains("/no/such/place"), "{error}");
}
