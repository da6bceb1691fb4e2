//! The kill test: server, broker-in-server, standalone broker and agents are killed at random while
//! jobs run; afterwards the history is compared with the actions that ran on the nodes.
//!
//! Invariants, for every order of kills: every acknowledged job exists and has ended; a node
//! reported as finished ran its action exactly once and its own result is recorded; a node reported
//! as not run did not run it; nothing ran twice. The wrappers of running actions are not killed
//! here, so every outcome can be determined: none may be unknown.
//!
//! `TUTTI_KILLS` and `TUTTI_SEED` set the number of kills and their times.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::installation::Installation;
use testkit::service::{Service, ServiceSpec};
use tokio_util::sync::CancellationToken;

const KILLS: u32 = 200;
const AGENTS_INSIDE: usize = 3;
const AGENTS_OUTSIDE: usize = 2;
/// Longest pause between two kills, chosen so that they hit every stage of a job.
const PAUSE_MS_MAX: u64 = 600;
/// Maximum duration of one action.
const ACTION_MS_MAX: u64 = 300;
/// Number of concurrent submitters of jobs.
const SUBMITTERS: usize = 3;

/// Appends its id to the node's ledger durably before it does anything else.
const LEDGER_TASK: &str = r#"#!/usr/bin/env python3
import json, os, sys, time
params = json.load(sys.stdin)
fd = os.open(params["ledger"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(fd, (params["id"] + " " + os.path.realpath(sys.argv[0]) + "\n").encode())
os.fsync(fd)
time.sleep(params["milliseconds"] / 1000)
print(json.dumps({"id": params["id"]}))
"#;

/// A job submitted by a submitter.
#[derive(Debug)]
struct Submitted {
    id: String,
    nodes: Vec<String>,
    /// The job's number; `None` if the server did not answer.
    number: Option<u64>,
}

/// One program that can be killed.
struct Victim {
    spec: ServiceSpec,
    running: Option<Service>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_run_twice_whatever_is_killed() {
    let kills = setting("TUTTI_KILLS").map_or(KILLS, |kills| u32::try_from(kills).unwrap());
    let seed = setting("TUTTI_SEED").unwrap_or_else(|| rand::rng().random());
    println!("{kills} kills, TUTTI_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let installation = Arc::new(crate::installation(""));
    let (mut victims, nodes) = start(&installation).await;
    let client = Client::login(&installation).await.unwrap();
    client.connected(nodes.len()).await.unwrap();

    let stop = CancellationToken::new();
    let submitters: Vec<_> = (0..SUBMITTERS)
        .map(|index| {
            let submitter = Submitter {
                index,
                client: client.clone(),
                installation: Arc::clone(&installation),
                nodes: nodes.clone(),
                random: SmallRng::seed_from_u64(seed.wrapping_add(1 + index as u64)),
            };
            tokio::spawn(submitter.run(stop.clone()))
        })
        .collect();
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.random_range(0..PAUSE_MS_MAX))).await;
        let victim = random.random_range(0..victims.len());
        victims[victim].kill_and_start(&mut random).await;
        if kill % 50 == 49 {
            println!("{} kills", kill + 1);
        }
    }
    for victim in &mut victims {
        victim.ensure_running().await;
    }
    stop.cancel();
    let mut jobs = Vec::new();
    for submitter in submitters {
        jobs.extend(submitter.await.unwrap());
    }
    let verdict = hold_against(&client, &installation, &jobs).await;
    println!("{} jobs; {verdict:?}", jobs.len());
    assert!(
        verdict.finished > 0,
        "no run finished: the test tests nothing"
    );
    for victim in victims {
        victim.running.unwrap().stop().await.unwrap();
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().expect("a number"))
}

async fn start(installation: &Installation) -> (Vec<Victim>, Vec<String>) {
    let parameters = json!({"id": {"type": "String"}, "ledger": {"type": "String"},
                            "milliseconds": {"type": "Integer"}});
    let metadata = json!({"input_method": "stdin", "parameters": parameters});
    installation
        .add_task("ledger", "init.py", &metadata, LEDGER_TASK)
        .unwrap();
    let mut specs = vec![
        installation.server(),
        installation.standalone_broker().unwrap(),
    ];
    let mut nodes = Vec::new();
    for index in 0..AGENTS_INSIDE + AGENTS_OUTSIDE {
        let name = format!("node{index}.test");
        let port = if index < AGENTS_INSIDE {
            installation.broker_port()
        } else {
            installation.remote_broker_port()
        };
        // Agents reconnect quickly, so that kills hit running jobs and not absent nodes.
        specs.push(
            installation
                .agent(&name, port, "reconnect-max-delay : 1\n")
                .unwrap(),
        );
        nodes.push(name);
    }
    let mut victims = Vec::new();
    for spec in specs {
        let running = Some(spec.start().await.unwrap());
        victims.push(Victim { spec, running });
    }
    (victims, nodes)
}

// === impl Victim ===

impl Victim {
    /// Usually waits until the program is up again; sometimes it is left to be killed while it
    /// starts.
    async fn kill_and_start(&mut self, random: &mut SmallRng) {
        if let Some(running) = self.running.take() {
            running.kill().await.unwrap();
        }
        let started = if random.random_bool(0.5) {
            self.spec.start().await
        } else {
            self.spec.spawn()
        };
        self.running = Some(started.unwrap());
    }

    async fn ensure_running(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill().await.unwrap();
        }
        self.running = Some(self.spec.start().await.unwrap());
    }
}

struct Submitter {
    index: usize,
    client: Client,
    installation: Arc<Installation>,
    nodes: Vec<String>,
    random: SmallRng,
}

impl Submitter {
    /// Submits one job after the other, each on some nodes.
    async fn run(mut self, stop: CancellationToken) -> Vec<Submitted> {
        let mut jobs = Vec::new();
        while !stop.is_cancelled() {
            let id = format!("{}-{}", self.index, jobs.len());
            let nodes = self.choose().await;
            let number = self.submit(&id, &nodes).await;
            jobs.push(Submitted { id, nodes, number });
            if let Some(number) = number {
                self.client.wait(number).await.unwrap();
            } else {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        jobs
    }

    /// Some of the nodes that are connected now: a job on absent nodes ends before any kill can hit
    /// it. Occasionally all nodes, connected or not.
    async fn choose(&mut self) -> Vec<String> {
        let mut there = self.client.connected_names().await.unwrap();
        if there.is_empty() || self.random.random_bool(0.1) {
            there.clone_from(&self.nodes);
        }
        let count = self.random.random_range(1..=there.len());
        there.sample(&mut self.random, count).cloned().collect()
    }

    /// `None`: the server was down or went down; its history shows if the job was created.
    async fn submit(&mut self, id: &str, nodes: &[String]) -> Option<u64> {
        let ledger = self.installation.root().join("ledger").join(id);
        std::fs::create_dir_all(ledger.parent().unwrap()).unwrap();
        let milliseconds = self.random.random_range(0..ACTION_MS_MAX);
        let params = json!({"id": id, "ledger": ledger, "milliseconds": milliseconds});
        let nodes: Vec<_> = nodes.iter().map(String::as_str).collect();
        self.client.run_task("ledger", &nodes, params).await.ok()
    }
}

/// The ends of the runs.
#[derive(Debug, Default)]
struct Verdict {
    finished: usize,
    not_run: usize,
    unknown: usize,
}

async fn hold_against(client: &Client, installation: &Installation, jobs: &[Submitted]) -> Verdict {
    let mut verdict = Verdict::default();
    for job in jobs {
        let ran = ledger(installation, &job.id);
        for (node, times) in &ran {
            assert!(
                job.nodes.contains(node),
                "{} ran on {node}, which nobody asked for",
                job.id
            );
            assert_eq!(*times, 1, "{} ran {times} times on {node}", job.id);
        }
        let Some(number) = job.number else { continue };
        client.wait(number).await.unwrap();
        let runs = client.nodes(number).await.unwrap();
        assert_eq!(runs.len(), job.nodes.len(), "job {number} lost a node");
        for run in runs {
            check_run(job, &run, &ran, &mut verdict);
        }
    }
    verdict
}

fn check_run(job: &Submitted, run: &Value, ran: &HashMap<String, u32>, verdict: &mut Verdict) {
    let node = run["name"].as_str().unwrap();
    let times = ran.get(node).copied().unwrap_or(0);
    let kind = run["result"]["_error"]["kind"].as_str().unwrap_or_default();
    match run["state"].as_str().unwrap() {
        "finished" => {
            verdict.finished += 1;
            assert_eq!(
                times, 1,
                "{} is said to have finished on {node} but never ran",
                job.id
            );
            assert_eq!(
                run["result"]["id"],
                json!(job.id),
                "somebody else's result: {run}"
            );
        }
        "errored" if kind.contains("unknown") => verdict.unknown += 1,
        "errored" => {
            verdict.not_run += 1;
            assert_eq!(times, 0, "{} ran on {node}, yet: {run}", job.id);
        }
        _ => panic!("{} on {node}: {run}", job.id),
    }
}

/// The number of runs of a job's action, by node.
fn ledger(installation: &Installation, id: &str) -> HashMap<String, u32> {
    let mut ran = HashMap::new();
    let path = installation.root().join("ledger").join(id);
    for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
        let program = line.split_once(' ').map(|(_, program)| program).unwrap();
        *ran.entry(node_of(installation, Path::new(program)))
            .or_default() += 1;
    }
    ran
}

/// The node whose task cache the executed file is in.
fn node_of(installation: &Installation, program: &Path) -> String {
    let agents = installation.root().join("agents").canonicalize().unwrap();
    let below = program
        .strip_prefix(&agents)
        .unwrap_or_else(|_| panic!("{}", program.display()));
    below
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_str()
        .unwrap()
        .to_owned()
}
