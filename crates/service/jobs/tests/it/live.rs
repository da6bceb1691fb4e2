//! Watching a job.

use jobs::{LiveEvent, LiveSubscription};

use crate::sim::Manner;
use crate::world::{World, patient, request};

const TEXT_BYTES: usize = 300_000;

fn text() -> Vec<u8> {
    (0..TEXT_BYTES).map(|n| b'a' + (n % 26) as u8).collect()
}

/// Reads to the end: the output, and the types of the events in between.
async fn read(mut live: LiveSubscription) -> (Vec<u8>, Vec<String>, u64) {
    let (mut output, mut kinds, mut lagged) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = live.next().await.unwrap() {
        match event {
            LiveEvent::Event(event) => kinds.push(event.kind),
            LiveEvent::Output { offset, bytes, .. } => {
                assert!(
                    lagged > 0 || offset == output.len() as u64,
                    "a hole without a word"
                );
                output.extend_from_slice(&bytes);
            }
            LiveEvent::Lagged(pieces) => lagged += pieces,
        }
    }
    (output, kinds, lagged)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_arrives_as_it_is_written_and_before_the_end() {
    let world = World::with(patient()).await;
    let nodes = world.agents(
        1,
        &Manner {
            writes: text(),
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let (output, kinds, lagged) = read(world.jobs().subscribe_live(job, 0).await).await;
    assert!(output == text());
    assert_eq!(lagged, 0);
    assert_eq!(kinds, ["node_running", "node_finished", "job_finished"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_is_held_back_by_a_reader_that_does_not_read() {
    let world = World::with(patient()).await;
    let nodes = world.agents(
        1,
        &Manner {
            writes: text(),
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let mut live = world.jobs().subscribe_live(job, 0).await;
    let window = 4 * 1_024 * 1_024 / 250;
    world
        .until("the first window is sent", |world| {
            world.sim.output_sent(&nodes[0]) == window
        })
        .await;
    // Whatever else happens in the engine, the agent has no leave for more.
    world.jobs().ping(&nodes).await;
    assert_eq!(world.sim.output_sent(&nodes[0]), window);
    while world.sim.output_sent(&nodes[0]) == window {
        live.next().await.unwrap().unwrap();
    }
    let (_, kinds, lagged) = read_rest(live).await;
    assert_eq!(
        (kinds.last().map(String::as_str), lagged),
        (Some("job_finished"), 0)
    );
}

async fn read_rest(mut live: LiveSubscription) -> (usize, Vec<String>, u64) {
    let (mut bytes_read, mut kinds, mut lagged) = (0, Vec::new(), 0);
    while let Some(event) = live.next().await.unwrap() {
        match event {
            LiveEvent::Event(event) => kinds.push(event.kind),
            LiveEvent::Output { bytes, .. } => bytes_read += bytes.len(),
            LiveEvent::Lagged(pieces) => lagged += pieces,
        }
    }
    (bytes_read, kinds, lagged)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_told_what_it_missed_and_misses_no_event() {
    let world = World::with(patient()).await;
    let long: Vec<u8> = text().repeat(20);
    let nodes = world.agents(
        1,
        &Manner {
            writes: long.clone(),
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let slow = world.jobs().subscribe_live(job, 0).await;
    let fast = world.jobs().subscribe_live(job, 0).await;
    let (output, fast_kinds, lagged) = read(fast).await;
    assert!(
        output.len() > long.len() / 2 && lagged == 0,
        "the fast one set the pace"
    );
    let (bytes, slow_kinds, lagged) = read_rest(slow).await;
    assert!(lagged > 0);
    assert!(bytes < long.len());
    assert_eq!(slow_kinds, fast_kinds);
}

#[tokio::test]
async fn output_that_nobody_asked_for_is_not_taken() {
    let world = World::with(patient()).await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    let output = pxp::OutputPiece {
        transaction_id: world.sim.requests()[0].1.clone(),
        stream: pxp::ProcessStream::Stdout,
        offset: 0,
        data: bytes::Bytes::from_static(b"unasked"),
    };
    world
        .sim
        .say(&nodes[0], pxp::PxpMessageBody::Output(output))
        .await;
    let unasked = &world.jobs().metrics().unasked_output;
    world.until("it is counted", |_| unasked.get() == 1).await;
    world.sim.let_go();
    world.over(job).await;
}

#[tokio::test]
async fn a_stock_agent_runs_while_somebody_watches() {
    let world = World::with(patient()).await;
    let nodes = world.agents(
        1,
        &Manner {
            stock: true,
            takes_ms: 5..6,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let (output, kinds, _) = read(world.jobs().subscribe_live(job, 0).await).await;
    assert!(output.is_empty());
    assert_eq!(kinds.last().map(String::as_str), Some("job_finished"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_the_end_alone_is_told_and_asks_for_no_output() {
    let world = World::with(patient()).await;
    let nodes = world.agents(2, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(2).await;
    let waiting = {
        let jobs = world.jobs().clone();
        tokio::spawn(async move { jobs.wait_until_over(job).await })
    };
    world.sim.let_go();
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert_eq!(world.state(job).await, "finished");
    assert_eq!(
        world.jobs().wait_until_over(job).await,
        Ok(()),
        "over already"
    );
    world.jobs().shutdown().await;
    assert_eq!(
        world.jobs().wait_until_over(job).await,
        Err(jobs::FollowError)
    );
}

/// An agent that does not know of it sends all that the task writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_task_marks_as_sensitive_reaches_no_reader() {
    const CANARY: &str = "canary-42f0-hunter2";
    let world = World::with(patient()).await;
    let mut writes = br#"{"user": "x", "_sensitive": {"#.to_vec();
    writes.extend(CANARY.repeat(TEXT_BYTES / CANARY.len()).into_bytes());
    let nodes = world.agents(
        1,
        &Manner {
            writes,
            ..Manner::default()
        },
    );
    let job = world.run(request(&nodes)).await;
    let (output, kinds, _) = read(world.jobs().subscribe_live(job, 0).await).await;
    assert_eq!(output, br#"{"user": "x", "_sensitive""#);
    assert_eq!(kinds, ["node_running", "node_finished", "job_finished"]);
}
