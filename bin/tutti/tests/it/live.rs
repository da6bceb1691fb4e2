//! Running tasks: output, streams, restarts, Ctrl-C, time limits, and truthful ends.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::sse::Events;
use crate::world::{Gate, World, until};

const NODE: &str = "node0.test";

#[tokio::test]
async fn both_streams_are_shown_while_the_task_runs() {
    let world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo first; echo beside >&2", "echo last");
    let job = world.job("slow", &[NODE], gate.params()).await;
    let mut events = Events::open(&world.client, job, None).await;
    // The task waits for the gate: any event that arrives now was sent before its end.
    let mut seen = Vec::new();
    let has = |seen: &[crate::sse::Message], stream: &str, text: &str| {
        seen.iter().any(|message| message.is_output(stream, text))
    };
    while !(has(&seen, "stdout", "first") && has(&seen, "stderr", "beside")) {
        seen.push(events.next().await.expect("the job has not ended"));
    }
    assert!(
        seen.iter().all(|message| message.kind != "node_finished"),
        "{seen:?}"
    );
    gate.open();
    let rest = events.rest().await;
    let kinds: Vec<_> = rest.iter().map(|message| message.kind.as_str()).collect();
    let finished = kinds.iter().position(|kind| *kind == "node_finished");
    let last = rest
        .iter()
        .position(|message| message.is_output("stdout", "last"));
    assert!(last.is_some() && last < finished, "{rest:?}");
    assert_eq!(kinds.last(), Some(&"job_finished"), "{kinds:?}");
    world.stop().await;
}

#[tokio::test]
async fn a_stream_goes_on_behind_the_last_event_after_the_server_was_killed() {
    let mut world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo first", "echo last");
    let job = world.job("slow", &[NODE], gate.params()).await;
    let mut events = Events::open(&world.client, job, None).await;
    let before = events
        .until(|message| message.is_output("stdout", "first"))
        .await;
    let last = before.iter().filter_map(|message| message.id).max();
    world.kill_server().await;
    world.start_server().await;
    gate.open();
    let mut events = Events::open(&world.client, job, last).await;
    let after = events.rest().await;
    let mut streamed: Vec<u64> = before.iter().filter_map(|message| message.id).collect();
    streamed.extend(after.iter().filter_map(|message| message.id));
    let path = format!("/orchestrator/v1/jobs/{job}/events");
    let log = world.client.get(&path).await.unwrap();
    let ids = log["items"].as_array().unwrap().iter().map(|event| {
        let id = event["id"].as_str().unwrap();
        id.parse::<u64>().unwrap()
    });
    assert_eq!(streamed, ids.collect::<Vec<_>>(), "each event once: {log}");
    assert_eq!(after.last().unwrap().kind, "job_finished");
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["result"]["_output"], json!("first\nlast\n"));
    world.stop().await;
}

/// A71, A73
#[tokio::test]
async fn a_task_of_ten_seconds_goes_on_while_its_agent_restarts() {
    let mut world = World::start(&[NODE]).await;
    let script = "i=1; while [ $i -le 20 ]; do echo tick $i.; sleep 0.5; i=$((i + 1)); done";
    world.shell("ticks", &[], script);
    let job = world.job("ticks", &[NODE], json!({})).await;
    let mut events = Events::open(&world.client, job, None).await;
    events
        .until(|message| message.is_output("stdout", "tick 3."))
        .await;
    let status = world.agents.remove(NODE).unwrap().stop().await.unwrap();
    assert!(status.success(), "{status}");
    world.start_agent(NODE, "").await;
    // The new agent sends the output of the old one's task.
    events
        .until(|message| message.is_output("stdout", "tick 18."))
        .await;
    let nodes = world.ended(job).await;
    let ticks: String = (1..=20).map(|i| format!("tick {i}.\n")).collect();
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    assert_eq!(nodes[0]["result"]["_output"], json!(ticks));
    world.stop().await;
}

/// Runs `tutti task run` with the gate; returns the lines that it prints.
async fn following(world: &World, task: &str, gate: &Gate) -> (Child, Pid, Lines, Lines) {
    let mut command = world.tutti().await;
    command.args(["task", "run", task, "-n", NODE, "--params"]);
    command.arg(gate.params().to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    let stdout = Lines::new(child.stdout.take().unwrap());
    let stderr = Lines::new(child.stderr.take().unwrap());
    (child, pid, stdout, stderr)
}

/// Lines of a program's output.
struct Lines(Box<dyn tokio::io::AsyncBufRead + Unpin>);

impl Lines {
    fn new(read: impl tokio::io::AsyncRead + Unpin + 'static) -> Self {
        Self(Box::new(BufReader::new(read)))
    }

    /// Reads up to the line that contains `text`.
    async fn until(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let read = self.0.read_line(&mut seen).await.unwrap();
            assert!(read > 0, "`{text}` is not in: {seen}");
        }
    }
}

#[tokio::test]
async fn ctrl_c_stops_the_job_and_waits_for_its_end() {
    let world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo first", "echo last");
    let (mut child, pid, mut stdout, mut stderr) = following(&world, "slow", &gate).await;
    stdout.until("first").await;
    kill_process(pid, Signal::INT).unwrap();
    stderr.until("stopping job 1").await;
    let job = world.client.get("/orchestrator/v1/jobs/1").await.unwrap();
    assert_eq!(job["state"], json!("stopping"), "{job}");
    gate.open();
    stdout.until("last").await;
    let (stdout, status) = tokio::join!(stdout.until("Job 1 stopped"), child.wait());
    let () = stdout;
    assert_eq!(status.unwrap().code(), Some(1));
    world.stop().await;
}

#[tokio::test]
async fn ctrl_c_twice_leaves_the_job_alone() {
    let world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo first", "echo last");
    let (mut child, pid, mut stdout, mut stderr) = following(&world, "slow", &gate).await;
    stdout.until("first").await;
    kill_process(pid, Signal::INT).unwrap();
    stderr.until("stopping job 1").await;
    kill_process(pid, Signal::INT).unwrap();
    stderr.until("detached").await;
    assert_eq!(child.wait().await.unwrap().code(), Some(2));
    let job = world.client.get("/orchestrator/v1/jobs/1").await.unwrap();
    assert_eq!(job["state"], json!("stopping"), "{job}");
    gate.open();
    let nodes = world.ended(1).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    world.stop().await;
}

#[tokio::test]
async fn ctrl_c_twice_leaves_at_once_while_the_server_does_not_answer() {
    let world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo first", "echo last");
    let (mut child, pid, mut stdout, mut stderr) = following(&world, "slow", &gate).await;
    stdout.until("first").await;
    let server = world.server.as_ref().unwrap().pid();
    kill_process(server, Signal::STOP).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    stderr.until("Ctrl-C").await;
    kill_process(pid, Signal::INT).unwrap();
    stderr.until("detached").await;
    assert_eq!(child.wait().await.unwrap().code(), Some(2));
    kill_process(server, Signal::CONT).unwrap();
    gate.open();
    world.ended(1).await;
    world.stop().await;
}

#[tokio::test]
async fn every_end_of_a_task_is_told_truly() {
    let world = World::start(&[NODE]).await;
    world.shell("ends", &["how"], "echo out; echo err >&2; eval \"$PT_how\"");
    for (how, code) in [("exit 0", 0), ("exit 1", 1), ("exit 255", 255)] {
        let run = world.run("ends", NODE, json!({"how": how})).await;
        let state = if code == 0 { "finished" } else { "failed" };
        assert_eq!(run["state"], json!(state), "{run}");
        assert_eq!(run["result"]["_output"], json!("out\n"), "{run}");
        if code != 0 {
            let error = &run["result"]["_error"];
            assert_eq!(error["details"]["exit_code"], json!(code), "{run}");
            let message = format!("The task failed with exit code {code}");
            assert_eq!(error["msg"], json!(message), "{run}");
            assert_eq!(run["details"]["stderr"], json!("err\n"), "{run}");
        }
    }
    let run = world.run("ends", NODE, json!({"how": "kill -9 $$"})).await;
    assert_eq!(run["state"], json!("failed"), "{run}");
    let error = &run["result"]["_error"];
    assert_eq!(error["details"]["signal"], json!(9), "{run}");
    assert!(
        error["msg"].as_str().unwrap().contains("signal 9"),
        "{error}"
    );
    world.stop().await;
}

/// A12, A34
#[tokio::test]
async fn output_that_is_no_text_is_carried_and_said() {
    let world = World::start(&[NODE]).await;
    world.shell("bytes", &[], "printf 'a\\377\\376\\000z'");
    let run = world.run("bytes", NODE, json!({})).await;
    assert_eq!(run["state"], json!("finished"), "{run}");
    let info = &run["result"]["_output_info"];
    assert_eq!(info["encoding"], json!("binary"), "{run}");
    assert_eq!(info["base64"], json!("Yf/+AHo="), "{run}");
    let output = run["result"]["_output"].as_str().unwrap();
    assert!(output.starts_with('a') && output.ends_with('z'), "{run}");
    world.stop().await;
}

#[tokio::test]
async fn a_task_over_its_time_is_ended_and_says_so() {
    let world = World::start(&[NODE]).await;
    let gate = world.gate("slow", "echo $$ > \"$PT_begun.pid\"; echo half", "");
    let body = json!({"task": "slow", "params": gate.params(), "scope": {"nodes": [NODE]},
                      "timeout": 1});
    let path = "/orchestrator/v1/command/task";
    let created = world.client.post(path, &body).await.unwrap();
    let job = created["job"]["name"].as_str().unwrap().parse().unwrap();
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("errored"), "{nodes:?}");
    let result = &nodes[0]["result"];
    assert_eq!(result["_error"]["kind"], json!("tutti/timeout"), "{result}");
    assert_eq!(result["_output"], json!("half\n"), "{result}");
    let pid = std::fs::read_to_string(world.root().join("slow-begun.pid")).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    until("the end of the process", || async { !process.exists() }).await;
    world.stop().await;
}

#[tokio::test]
async fn a_concurrency_of_one_is_one_at_a_time() {
    let nodes = [NODE, "node1.test", "node2.test"];
    let world = World::start(&nodes).await;
    world.shell(
        "alone",
        &["lock"],
        "mkdir \"$PT_lock\" || exit 9; sleep 0.3; rmdir \"$PT_lock\"",
    );
    let body = json!({"task": "alone", "params": {"lock": world.root().join("lock")},
                      "scope": {"nodes": nodes}, "concurrency": 1});
    let path = "/orchestrator/v1/command/task";
    let created = world.client.post(path, &body).await.unwrap();
    let job = created["job"]["name"].as_str().unwrap().parse().unwrap();
    let ended = world.ended(job).await;
    let states: Vec<_> = ended.iter().map(|node| &node["state"]).collect();
    assert_eq!(states, [&Value::from("finished"); 3], "{ended:?}");
    world.stop().await;
}
