//! Nodes without an agent: their connections, and jobs on them over a real sshd.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use api_types::Route;
use environments::BlobStore;
use fabric::Fabric;
use http::StatusCode;
use jobs::{Jobs, JobsConfig, LiveEvent};
use pcp::PcpUri;
use pki::seal::SealKey;
use serde_json::{Value, json};
use ssh::{HostKeyCheck, HostKeys, SshConfig, SshConnections, SshRunner};
use testkit::peers::Sshd;

use crate::agents::Manner;
use crate::world::World;

const CREATE: &str = "/inventory/v1/command/create-connection";
const DELETE: &str = "/inventory/v1/command/delete-connection";
const PURGE: &str = "/inventory/v1/command/purge-node";
const QUERY: &str = "/inventory/v1/query/connections";
const TASK: &str = "/orchestrator/v1/command/task";

/// A request for one of these routes that is valid except for its token.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let sample = match route.operation_id {
        "create_connection" => (CREATE, created(&["bare"], json!({"duplicates": "replace"}))),
        "delete_connection" => (DELETE, json!({"certnames": ["bare"]}).to_string()),
        "connections" => (QUERY, String::new()),
        "purge_node" => (PURGE, json!({"certname": "bare"}).to_string()),
        "connections_post" => (QUERY, json!({"certnames": ["bare"]}).to_string()),
        _ => return None,
    };
    Some(sample)
}

/// The body of a request that stores a connection.
fn created(certnames: &[&str], more: Value) -> String {
    let mut body = json!({
        "certnames": certnames, "type": "ssh",
        "parameters": {"user": "root", "port": 2222},
        "sensitive_parameters": {"password": "canary"},
    });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

#[tokio::test]
async fn a_read_of_stored_secrets_is_in_the_audit() {
    let world = World::new().await;
    let reply = world.post(CREATE, created(&["n1", "n2"], json!({}))).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    let reads = async || {
        let entries = world.ok("/audit/v1/entries?start=1&limit=100").await;
        assert!(!entries.to_string().contains("canary"));
        let entries = entries["items"].as_array().unwrap().clone();
        let reads = entries.into_iter().filter(|it| it["phase"] == "event");
        reads.collect::<Vec<Value>>()
    };
    // A read that returns no secret is not recorded as one.
    for query in [
        "",
        "?sensitive=false",
        "?sensitive=true&extract=type",
        "?sensitive=true&certname=zzz",
    ] {
        world.ok(&format!("{QUERY}{query}")).await;
    }
    assert_eq!(reads().await, Vec::<Value>::new());
    let one = world
        .ok(&format!("{QUERY}?certname=n2&sensitive=true"))
        .await;
    assert!(one.to_string().contains("canary"));
    let asked = json!({"sensitive": true, "extract": ["sensitive_parameters"]});
    let all = world.post(QUERY, asked.to_string()).await;
    assert!(all.text().contains("canary"));
    let reads = reads().await;
    assert_eq!(reads.len(), 2);
    for (read, (action, names)) in reads.iter().zip([
        ("connections", json!(["n2"])),
        ("connections_post", json!(["n1", "n2"])),
    ]) {
        assert_eq!(read["action"], action);
        assert_eq!(read["actor_name"], "admin");
        assert_eq!(read["permission"], "nodes:view_inventory_sensitive");
        let details: Value = serde_json::from_str(read["details"].as_str().unwrap()).unwrap();
        assert_eq!(details["names"], names);
        assert_eq!(details["secrets_of"], "connections");
    }
}

#[tokio::test]
async fn connections_are_stored_shown_and_forgotten() {
    let world = World::new().await;
    let reply = world.post(CREATE, created(&["n1", "n2"], json!({}))).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    let id = reply.json()["connection_id"].clone();

    let reply = world.post(CREATE, created(&["n2", "n3"], json!({}))).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert_eq!(reply.kind(), "puppetlabs.inventory/duplicate-certnames");
    assert_eq!(reply.json()["details"]["certnames"], json!(["n2"]));

    let all = world.ok(QUERY).await;
    let item = json!({
        "connection_id": id, "certnames": ["n1", "n2"], "type": "ssh",
        "parameters": {
            "user": "root", "port": 2222, "connect-timeout": 10, "run-as-command": [], "tty": false,
        },
    });
    assert_eq!(all, json!({"items": [item]}));
    let one = world
        .ok(&format!(
            "{QUERY}?certname=n2&sensitive=true&extract=certnames,sensitive_parameters"
        ))
        .await;
    let item = json!({
        "connection_id": id, "certnames": ["n2"], "sensitive_parameters": {"password": "canary"},
    });
    assert_eq!(one, json!({"items": [item]}));
    let asked = json!({"certnames": ["n1", "zzz"], "extract": ["type"], "sensitive": null});
    let posted = world.post(QUERY, asked.to_string()).await.json();
    assert_eq!(
        posted,
        json!({"items": [{"connection_id": id, "type": "ssh"}]})
    );

    let replaced = created(&["n2"], json!({"duplicates": "replace"}));
    assert_eq!(
        world.post(CREATE, replaced).await.status,
        StatusCode::CREATED
    );
    let gone = json!({"certnames": ["n1", "never"]}).to_string();
    assert_eq!(
        world.post(DELETE, gone).await.status,
        StatusCode::NO_CONTENT
    );
    let left = world.ok(QUERY).await;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(left["items"][0]["certnames"], json!(["n2"]));
}

#[tokio::test]
async fn what_is_wrong_is_named_and_no_secret_is_repeated() {
    let world = World::new().await;
    let invalid = "puppetlabs.orchestrator/validation-error";
    let cases = [
        (
            json!({"type": "winrm"}),
            "tutti/not-supported",
            "WinRM is not supported",
        ),
        (json!({"type": "telnet"}), invalid, "type"),
        (json!({"certnames": []}), invalid, "certnames"),
        (json!({"certnames": ["a/b"]}), invalid, "certnames[0]"),
        (json!({"duplicates": "canary"}), invalid, "duplicates"),
        (json!({"parameters": {}}), invalid, "parameters.user"),
        (json!({"parameters": "canary"}), invalid, "parameters"),
        (
            json!({"sensitive_parameters": "canary"}),
            invalid,
            "sensitive_parameters",
        ),
        (
            json!({"sensitive_parameters": {}}),
            invalid,
            "sensitive_parameters.password",
        ),
        (
            json!({"sensitive_parameters": {"private-key-content": "canary"}}),
            invalid,
            "sensitive_parameters.private-key-content",
        ),
    ];
    for (more, kind, words) in cases {
        let reply = world.post(CREATE, created(&["n"], more.clone())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{more}");
        assert_eq!(reply.kind(), kind, "{more}");
        assert!(reply.text().contains(words), "{more}: {}", reply.text());
        assert!(!reply.text().contains("canary"), "{more}: {}", reply.text());
    }
    let reply = world.get(&format!("{QUERY}?extract=password")).await;
    assert_eq!(reply.kind(), invalid);
}

/// A world with an SSH host, the runner for it, and a task that returns its input.
struct Site {
    world: World,
    sshd: Sshd,
    runner: SshRunner,
}

impl Site {
    async fn new() -> Self {
        let world = World::new().await;
        let sshd = Sshd::start().unwrap();
        std::fs::write(
            world.dir.path().join("known_hosts"),
            sshd.known_hosts().unwrap(),
        )
        .unwrap();
        let tasks = world
            .dir
            .path()
            .join("code/environments/production/modules/over/tasks");
        std::fs::create_dir_all(&tasks).unwrap();
        let script =
            "#!/bin/sh\necho \"{\\\"got\\\": \\\"$PT_word\\\", \\\"as\\\": \\\"$SUDO_AS\\\"}\"";
        std::fs::write(tasks.join("init.sh"), script).unwrap();
        let script = "#!/bin/sh\necho $$ > \"$PT_begun.new\"; mv \"$PT_begun.new\" \"$PT_begun\"; sleep 300 & sleep 300";
        std::fs::write(tasks.join("endless.sh"), script).unwrap();
        let script =
            "#!/bin/sh\necho b >> \"$PT_log\"\necho e >> \"$PT_log\"\n[ \"$SUDO_AS\" = works ]";
        std::fs::write(tasks.join("logged.sh"), script).unwrap();
        let runner = runner(&world, &world.state.fabric, &world.state.connections);
        Self {
            world,
            sshd,
            runner,
        }
    }

    fn target(&self, hostnames: &[&str], more: Value) -> Value {
        let mut target = json!({
            "hostnames": hostnames, "transport": "ssh", "user": self.sshd.user(),
            "private-key-content": self.sshd.private_key().unwrap(),
            "port": self.sshd.port(), "hostname": "127.0.0.1",
        });
        for (key, value) in more.as_object().unwrap() {
            target[key] = value.clone();
        }
        target
    }

    async fn store(&self, certname: &str) {
        let mut parameters = self.target(&[], json!({}));
        let all = parameters.as_object_mut().unwrap();
        let key = all.remove("private-key-content");
        all.retain(|key, _| key != "hostnames" && key != "transport");
        let more = json!({
            "parameters": parameters, "sensitive_parameters": {"private-key-content": key},
        });
        let reply = self.world.post(CREATE, created(&[certname], more)).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    }

    async fn run(&self, body: Value) -> String {
        let reply = self.world.post(TASK, body.to_string()).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
        reply.json()["job"]["name"].as_str().unwrap().to_owned()
    }

    async fn nodes(&self, job: &str) -> Value {
        let path = format!("/orchestrator/v1/jobs/{job}/nodes");
        self.world.ok(&path).await["items"].clone()
    }

    /// Starts a task that does not end, and waits until it runs. Returns the job, and the process
    /// group with which the test can end it.
    async fn endless(&self) -> (String, rustix::process::Pid) {
        let begun = self.sshd.tmp().join("begun");
        let job = self
            .run(json!({
                "task": "over::endless", "params": {"begun": begun}, "scope": {"nodes": ["bare"]},
            }))
            .await;
        let deadline = Instant::now() + Duration::from_secs(30);
        while !begun.exists() {
            assert!(Instant::now() < deadline, "{}", self.nodes(&job).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let leader = std::fs::read_to_string(&begun).unwrap();
        let group = rustix::process::Pid::from_raw(leader.trim().parse().unwrap()).unwrap();
        (job, group)
    }

    /// Stops the engine and the SSH runner, and starts new ones on the same database.
    async fn restart(&self) -> (Jobs, SshRunner) {
        let world = &self.world;
        world.state.jobs.shutdown().await;
        self.runner.shutdown().await;
        let path = world.dir.path();
        let seal = || SealKey::open_or_create(&path.join("seal")).unwrap();
        let connections = SshConnections::open(world.store.clone(), seal())
            .await
            .unwrap();
        let server = "tutti.example.com".parse().unwrap();
        let (fabric, inbox) = Fabric::new(PcpUri::server(&server));
        let runner = runner(world, &fabric, &connections);
        let blobs = BlobStore::open(path.join("blobs")).unwrap();
        let code = Arc::clone(&world.state.code);
        let config = JobsConfig::default();
        let store = world.store.clone();
        let jobs = Box::pin(Jobs::start(
            config,
            store,
            fabric,
            inbox,
            code,
            blobs,
            seal(),
        ));
        (jobs.await.unwrap(), runner)
    }

    /// A rollout on four nodes, which are users of one host; a node in `failing` fails. Returns the
    /// job, and the file to which each run appends a line at its start and at its end.
    async fn rollout(&self, options: Value, failing: &[&str]) -> (String, PathBuf) {
        let log = self.sshd.tmp().join("log");
        let targets = ["n1", "n2", "n3", "n4"].map(|name| {
            let user = if failing.contains(&name) {
                "fails"
            } else {
                "works"
            };
            let password = testkit::peers::sshd::SUDO_PASSWORD;
            self.target(&[name], json!({"run-as": user, "sudo-password": password}))
        });
        let mut body = json!({
            "task": "over::logged", "params": {"log": log},
            "scope": {"nodes": ["n1", "n2", "n3", "n4"]}, "targets": targets,
        });
        for (key, value) in options.as_object().unwrap() {
            body[key] = value.clone();
        }
        (self.run(body).await, log)
    }
}

/// The letters of a log, in their order: `b` for the start of a run, `e` for its end.
fn logged(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().collect()
}

fn runner(world: &World, fabric: &Fabric, connections: &SshConnections) -> SshRunner {
    let known_hosts = world.dir.path().join("known_hosts");
    let config = SshConfig::new(HostKeys::new(known_hosts, HostKeyCheck::Strict));
    let blobs = BlobStore::open(world.dir.path().join("blobs")).unwrap();
    SshRunner::start(config, fabric, connections.clone(), blobs)
}

#[tokio::test]
async fn a_node_without_an_agent_runs_tasks_over_its_stored_connection() {
    let site = Site::new().await;
    site.store("bare").await;
    site.world.nodes(1, &Manner::default());
    let body =
        json!({"task": "over", "params": {"word": "it's"}, "scope": {"nodes": ["bare", "gone"]}});
    let job = site.run(body).await;
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    assert_eq!(nodes[0]["state"], "finished", "{nodes}");
    assert_eq!(nodes[0]["transport"], "ssh");
    assert_eq!(nodes[0]["result"], json!({"got": "it's", "as": ""}));
    assert_eq!(nodes[1]["state"], "errored", "nobody knows how to reach it");
    let connected = site.world.ok("/orchestrator/v1/inventory/bare").await;
    assert_eq!(connected["connected"], false);
    site.runner.shutdown().await;
}

#[tokio::test]
async fn what_is_meant_for_an_agent_that_is_away_goes_to_no_host_that_somebody_stored() {
    let site = Site::new().await;
    site.store("a").await;
    site.world.nodes(1, &Manner::default());
    let store = &site.world.store;
    while store.agents("", 1).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    site.world.agents.leaves("a");

    let body = json!({"task": "over", "params": {"word": "secret"}, "scope": {"nodes": ["a"]}});
    let job = site.run(body.clone()).await;
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    assert_eq!(nodes[0]["state"], "errored", "{nodes}");
    assert!(nodes.to_string().contains("is not connected"), "{nodes}");

    let reply = site.world.post(
        CREATE,
        created(&["a", "b"], json!({"duplicates": "replace"})),
    );
    let reply = reply.await;
    assert_eq!(reply.status, StatusCode::CONFLICT, "{}", reply.text());
    assert_eq!(reply.kind(), "tutti/known-agents");
    assert_eq!(reply.json()["details"]["certnames"], json!(["a"]));

    // A caller who may run every task on all nodes may choose the connection of a node with an
    // agent.
    let mut named = body;
    named["targets"] = json!([site.target(&["a"], json!({}))]);
    let job = site.run(named).await;
    site.world.over(&job).await;
    assert_eq!(site.nodes(&job).await[0]["transport"], "ssh");
    site.runner.shutdown().await;
}

#[tokio::test]
async fn targets_say_how_nodes_are_reached_for_one_job_alone() {
    let site = Site::new().await;
    // The node has an agent too; the connection in the job takes precedence.
    site.world.nodes(1, &Manner::default());
    let more = json!({"run-as": "other", "sudo-password": testkit::peers::sshd::SUDO_PASSWORD});
    let job = site
        .run(json!({
            "task": "over", "params": {"word": "x"}, "scope": {"nodes": ["a", "bare"]},
            "targets": [site.target(&["bare"], json!({})), site.target(&["a"], more)],
        }))
        .await;
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    let told = |node: &Value| (node["transport"].clone(), node["result"].clone());
    assert_eq!(
        told(&nodes[0]),
        (json!("ssh"), json!({"got": "x", "as": "other"}))
    );
    assert_eq!(
        told(&nodes[1]),
        (json!("ssh"), json!({"got": "x", "as": ""}))
    );

    let body = json!({"task": "over", "params": {"word": "x"}, "scope": {"nodes": ["a", "bare"]}});
    let job = site.run(body).await;
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    assert_eq!(nodes[0]["transport"], "pcp", "{nodes}");
    assert_eq!(
        nodes[1]["state"], "errored",
        "nothing was kept of the connection"
    );

    let shown = site.world.ok(&format!("/orchestrator/v1/jobs/{job}")).await;
    assert!(!shown.to_string().contains("PRIVATE KEY"));
    site.runner.shutdown().await;
}

#[tokio::test]
async fn wrong_targets_are_refused_and_nothing_runs() {
    let site = Site::new().await;
    let invalid = "puppetlabs.orchestrator/validation-error";
    let cases = [
        (
            json!([site.target(&["b"], json!({}))]),
            "puppetlabs.orchestrator/empty-target",
        ),
        (
            json!([site.target(&["a"], json!({"transport": "winrm"}))]),
            "tutti/not-supported",
        ),
        (
            json!([site.target(&["a"], json!({"transport": 1}))]),
            invalid,
        ),
        (json!([site.target(&[], json!({}))]), invalid),
        (json!([site.target(&["a"], json!({"user": ""}))]), invalid),
        (json!([site.target(&["a"], json!({"canary": 1}))]), invalid),
        (
            json!([site.target(&["a"], json!({"replaces-agent": true}))]),
            invalid,
        ),
        (
            json!([
                site.target(&["a"], json!({})),
                site.target(&["a"], json!({}))
            ]),
            invalid,
        ),
        (json!(["canary"]), invalid),
    ];
    for (targets, kind) in cases {
        let body = json!({"task": "over", "scope": {"nodes": ["a"]}, "targets": targets});
        let reply = site.world.post(TASK, body.to_string()).await;
        assert_eq!(reply.kind(), kind, "{}", reply.text());
    }
    let jobs = site.world.ok("/orchestrator/v1/jobs").await;
    assert_eq!(jobs["items"], json!([]));
}

#[tokio::test]
async fn a_job_over_ssh_is_stopped_by_force() {
    let site = Site::new().await;
    site.store("bare").await;
    let (job, group) = site.endless().await;
    let body = json!({"job": job, "force": true}).to_string();
    let reply = site.world.post("/orchestrator/v1/command/stop", body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    assert_eq!(nodes[0]["state"], "failed", "{nodes}");
    assert_eq!(nodes[0]["result"]["_error"]["kind"], "tutti/stopped");
    assert_eq!(nodes[0]["transport"], "ssh");
    let gone = rustix::process::test_kill_process_group(group);
    assert_eq!(gone, Err(rustix::io::Errno::SRCH));
    site.runner.shutdown().await;
}

#[tokio::test]
async fn a_run_over_ssh_whose_server_is_gone_meanwhile_ends_as_unknown() {
    let site = Site::new().await;
    site.store("bare").await;
    let (job, group) = site.endless().await;
    let (jobs, again) = site.restart().await;
    let mut live = jobs.subscribe_live(job.parse().unwrap(), 0).await;
    while live.next().await.unwrap().is_some() {}

    let nodes = site.nodes(&job).await;
    assert_eq!(nodes[0]["state"], "errored", "{nodes}");
    assert_eq!(nodes[0]["transport"], "ssh");
    let error = &nodes[0]["result"]["_error"];
    assert_eq!(error["kind"], "tutti/outcome-unknown");
    let words = error["msg"].as_str().unwrap();
    assert!(
        words.contains("over SSH, the server was restarted"),
        "{words}"
    );
    // The task was not run again, and its process still runs.
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    jobs.shutdown().await;
    again.shutdown().await;
}

#[tokio::test]
async fn batches_over_ssh_wait_for_the_one_before_and_for_their_pause() {
    let site = Site::new().await;
    let options = json!({"batch": [1, 3], "pause_between_batches": 1, "max_failures": 0});
    let begun = Instant::now();
    let (job, log) = site.rollout(options, &[]).await;
    site.world.over(&job).await;
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let nodes = site.nodes(&job).await;
    let nodes = nodes.as_array().unwrap();
    let batches: Vec<_> = nodes.iter().map(|node| &node["batch"]).collect();
    assert_eq!(batches, [1, 2, 2, 2]);
    for node in nodes {
        assert_eq!(
            (&node["state"], &node["transport"]),
            (&json!("finished"), &json!("ssh")),
            "{node}"
        );
    }
    let logged = logged(&log);
    assert!(logged.starts_with("be") && logged.len() == 8, "{logged}");
    site.runner.shutdown().await;
}

#[tokio::test]
async fn a_failure_over_ssh_ends_a_rollout_before_its_next_batch() {
    let site = Site::new().await;
    let options = json!({"batch": 2, "max_failures": 0});
    let (job, log) = site.rollout(options, &["n2"]).await;
    site.world.over(&job).await;
    let nodes = site.nodes(&job).await;
    let nodes = nodes.as_array().unwrap();
    let states: Vec<_> = nodes.iter().map(|node| &node["state"]).collect();
    assert_eq!(states, ["finished", "failed", "skipped", "skipped"]);
    assert_eq!(logged(&log).matches('b').count(), 2);
    for node in &nodes[2..] {
        let error = &node["result"]["_error"];
        assert_eq!(error["kind"], "tutti/max-failures");
        assert!(error["msg"].as_str().unwrap().contains("(n2)"), "{error}");
    }
    site.runner.shutdown().await;
}

#[tokio::test]
async fn a_rollout_over_ssh_goes_on_after_a_restart_in_its_pause() {
    let site = Site::new().await;
    let options = json!({"batch": 2, "pause_between_batches": 2});
    let (job, log) = site.rollout(options, &[]).await;
    let mut live = site
        .world
        .state
        .jobs
        .subscribe_live(job.parse().unwrap(), 0)
        .await;
    loop {
        let event = live.next().await.unwrap().unwrap();
        if matches!(&event, LiveEvent::Event(row) if row.kind == "batch_finished") {
            break;
        }
    }
    let (jobs, runner) = site.restart().await;
    let first = logged(&log);
    assert_eq!((first.len(), first.matches('e').count()), (4, 2), "{first}");
    let mut live = jobs.subscribe_live(job.parse().unwrap(), 0).await;
    while live.next().await.unwrap().is_some() {}
    let nodes = site.nodes(&job).await;
    for node in nodes.as_array().unwrap() {
        // The job's targets, with their secrets, survive the restart.
        assert_eq!(
            (&node["state"], &node["transport"]),
            (&json!("finished"), &json!("ssh")),
            "{node}"
        );
    }
    assert_eq!(logged(&log).matches('b').count(), 4, "each node ran once");
    jobs.shutdown().await;
    runner.shutdown().await;
}

#[tokio::test]
async fn secrets_and_targets_need_rights_of_their_own() {
    use crate::task_rights::{as_somebody, right};
    let world = as_somebody(|target| {
        json!([
            right("nodes", "view_data", "*"),
            right("nodes", "add_connections", "*"),
            right("tasks", "run", "typed"),
            right("tasks", "run_with_constraints", target),
        ])
    })
    .await;
    let reply = world.post(CREATE, created(&["n1"], json!({}))).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
    let mut over_agent: Value = serde_json::from_str(&created(&["n2"], json!({}))).unwrap();
    over_agent["parameters"]["replaces-agent"] = true.into();
    for (body, missing) in [
        (
            created(&["n1"], json!({"duplicates": "replace"})),
            "nodes:delete_connections",
        ),
        (over_agent.to_string(), "tasks:run"),
    ] {
        let reply = world.post(CREATE, body).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
        assert!(reply.text().contains(missing), "{}", reply.text());
    }
    let shown = world.ok(QUERY).await;
    assert!(!shown.to_string().contains("canary"), "{shown}");
    for reply in [
        world.get(&format!("{QUERY}?sensitive=true")).await,
        world
            .post(QUERY, json!({"sensitive": true}).to_string())
            .await,
        world
            .post(DELETE, json!({"certnames": ["n1"]}).to_string())
            .await,
    ] {
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
        assert!(!reply.text().contains("canary"));
    }
    // The task is permitted on `a`, but not on all nodes.
    let target = json!({"hostnames": ["a"], "transport": "ssh", "user": "u", "password": "canary"});
    let body = json!({"task": "test", "scope": {"nodes": ["a"]}, "targets": [target]});
    let reply = world.post(TASK, body.to_string()).await;
    assert_eq!(
        reply.kind(),
        "puppetlabs.orchestrator/not-permitted",
        "{}",
        reply.text()
    );
    assert!(reply.text().contains("on all nodes"), "{}", reply.text());
}
