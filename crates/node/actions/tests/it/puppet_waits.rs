//! Puppet runs that wait, are stopped, or lose their supervisor.

use std::path::Path;
use std::time::Duration;

use pxp::PxpMessageBody;
use pxp::action::{PuppetCause, TransactionStatus};

use super::fake::until;
use super::puppet_fake::{Puppet, UUID, end, gives_way_then, reports};
#[tokio::test]
async fn a_run_in_progress_is_waited_for_and_said_to_be() {
    let puppet = Puppet::start(&gives_way_then("changed")).await;
    for round in 0..2 {
        let other = puppet.other_run();
        let id = puppet.begin().await;
        let waiting = puppet.node.entry(&id).join("waiting.json");
        until("it waits", || waiting.exists()).await;
        let status = puppet.node.status(&id).await;
        assert_eq!(status.status, TransactionStatus::Running);
        let pid = format!("process {}", other.id());
        assert!(status.waiting.unwrap().contains(&pid));
        let output = std::fs::read_to_string(puppet.node.entry(&id).join("stdout")).unwrap();
        assert!(
            output.contains("tutti-agent: another run of Puppet is in progress"),
            "{output}"
        );
        end(other);
        let result = puppet.result().await;
        assert_eq!(
            (result.status.as_str(), result.error),
            ("changed", None),
            "{round}"
        );
        assert!(result.waited_ms > 0);
        let status = puppet.node.status(&id).await;
        assert_eq!(
            (status.status, status.waiting),
            (TransactionStatus::Success, None)
        );
    }
    // The second time the runner knew the lock, and did not start Puppet in vain.
    assert_eq!(puppet.lines("runs").len(), 3);
}

#[tokio::test]
async fn a_wait_outlives_the_agent() {
    let mut puppet = Puppet::start(&gives_way_then("changed")).await;
    let other = puppet.other_run();
    let id = puppet.begin().await;
    let waiting = puppet.node.entry(&id).join("waiting.json");
    until("it waits", || waiting.exists()).await;
    puppet.node.restart().await;
    assert!(puppet.node.status(&id).await.waiting.is_some());
    end(other);
    assert_eq!(puppet.result().await.status, "changed");
}

#[tokio::test]
async fn a_stale_lock_is_left_to_puppet() {
    let puppet = Puppet::start(&gives_way_then("changed")).await;
    assert_eq!(puppet.run().await.status, "changed");
    std::fs::write(puppet.home.join("run.lock"), "4194305").unwrap();
    let result = puppet.run().await;
    assert_eq!((result.status.as_str(), result.waited_ms), ("changed", 0));
}

#[tokio::test]
async fn a_run_that_is_stopped_leaves_nothing_and_says_so() {
    let puppet = Puppet::start("sleep 1000 & echo $! >$home/child; wait\n").await;
    let child = puppet.home.join("child");
    let id = puppet.begin().await;
    until("it runs", || {
        child.exists() && !std::fs::read(&child).unwrap().is_empty()
    })
    .await;
    puppet.node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: false,
    });
    let result = puppet.result().await;
    assert_eq!(result.cause, Some(PuppetCause::Cancelled));
    assert!(result.cancelled && !result.timed_out);
    let pid = std::fs::read_to_string(&child).unwrap();
    assert!(
        !Path::new("/proc").join(pid.trim()).exists(),
        "its child is gone"
    );
}

#[tokio::test]
async fn a_run_out_of_time_and_a_killed_runner_are_told_apart() {
    let puppet = Puppet::start_with("sleep 1000\n", |config| {
        config.action_timeout = Some(Duration::from_millis(300));
    })
    .await;
    let result = puppet.run().await;
    assert_eq!(
        (result.cause, result.timed_out),
        (Some(PuppetCause::TimedOut), true)
    );

    // The parent of `puppet` is the runner.
    let agent = format!("{}kill -9 $PPID\n", reports("changed", ""));
    let puppet = Puppet::start(&agent).await;
    let result = puppet.run().await;
    assert_eq!(
        (result.cause, result.signal),
        (Some(PuppetCause::Killed), Some(9))
    );
    assert_eq!(result.transaction_uuid, UUID, "what there is, is told");
}
