//! `tutti doctor`: one line for each fault of an installation, with and without a running server.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::world::World;

/// Exit code of a diagnosis with problems.
const PROBLEMS: i32 = 3;

/// The JSON output of a diagnosis of one configuration.
struct Diagnosis {
    code: Option<i32>,
    findings: Vec<Value>,
}

// === impl Diagnosis ===

impl Diagnosis {
    async fn of(config: &Path) -> Self {
        let output = doctor(config, &["--format", "json"]).await;
        let text = String::from_utf8_lossy(&output.stdout);
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
        Self {
            code: output.status.code(),
            findings: document["findings"].as_array().unwrap().clone(),
        }
    }

    /// The findings of one check with this severity.
    fn of_check(&self, check: &str, severity: &str) -> Vec<&Value> {
        let findings = self.findings.iter();
        let is_meant = |it: &&Value| it["check"] == check && it["severity"] == severity;
        findings.filter(is_meant).collect()
    }

    #[track_caller]
    fn has_one(&self, check: &str, severity: &str, part: &str) {
        let found = self.of_check(check, severity);
        assert_eq!(found.len(), 1, "{:#?}", self.findings);
        let text = found[0].to_string();
        assert!(text.contains(part), "{text}");
    }
}

async fn doctor(config: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tutti"));
    command.arg("doctor").arg("--config").arg(config);
    command.args(arguments).kill_on_drop(true);
    command.output().await.unwrap()
}

/// Gives a file, or everything below a directory, to another user.
fn give(path: &Path, owner: u32) {
    lchown(path, Some(owner), Some(owner)).unwrap();
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        entries.for_each(|entry| give(&entry.unwrap().path(), owner));
    }
}

#[tokio::test]
async fn a_broken_configuration_is_a_finding_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("tutti.toml");
    std::fs::write(&config, "certname = 'a'\n[jobs]\nkeep_dais = 3\n").unwrap();
    let diagnosis = Diagnosis::of(&config).await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    diagnosis.has_one("configuration", "problem", "line 3");
    let missing = Diagnosis::of(&directory.path().join("none.toml")).await;
    missing.has_one("configuration", "problem", "none.toml");
}

#[tokio::test]
async fn an_installation_that_works_has_no_problem() {
    let mut world = World::start(&[]).await;
    let config = world.root().join("tutti.toml");
    let running = Diagnosis::of(&config).await;
    running.has_one("files", "ok", "");
    world.kill_server().await;
    let stopped = Diagnosis::of(&config).await;
    stopped.has_one("files", "ok", "");
    let output = doctor(&config, &[]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nok ") && text.contains(" ok\n"), "{text}");
    world.stop().await;
}

#[tokio::test]
async fn a_ca_that_root_has_written_to_is_one_line_with_its_chown() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files to another user");
        return;
    }
    let mut world = World::start(&[]).await;
    world.kill_server().await;
    std::fs::set_permissions(world.root(), Permissions::from_mode(0o755)).unwrap();
    give(&world.installation.data_dir(), 4242);
    let ca = world.installation.ca_dir();
    for name in ["ca_crl.pem", "serial", "inventory.txt", "signed"] {
        give(&ca.join(name), 0);
    }
    std::fs::set_permissions(ca.join("signed"), Permissions::from_mode(0o750)).unwrap();
    let config = world.root().join("tutti.toml");
    let diagnosis = Diagnosis::of(&config).await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    diagnosis.has_one("files", "problem", "chown -R");
    world.stop().await;
}

#[tokio::test]
async fn a_running_server_is_asked_over_its_api_with_its_own_certificate() {
    let world = World::start(&["web1.example.com"]).await;
    let config = world.root().join("tutti.toml");
    let diagnosis = Diagnosis::of(&config).await;
    diagnosis.has_one("server", "ok", "it runs and answers");
    diagnosis.has_one("agents", "ok", "connected agents of this version: 1");
    diagnosis.has_one("brokers", "ok", "its nodes: 1");
    diagnosis.has_one("database", "ok", "whole, held by process");
    diagnosis.has_one("ports", "ok", "tutti listens there");
    diagnosis.has_one("code", "ok", "production");
    let problems = diagnosis
        .findings
        .iter()
        .filter(|it| it["severity"] == "problem");
    let problems: Vec<_> = problems.map(|it| &it["place"]).collect();
    assert_eq!(problems, ["broker.test"], "{:#?}", diagnosis.findings);
    world.stop().await;
}

#[tokio::test]
async fn a_remote_broker_that_is_away_and_a_part_that_has_not_started_are_one_line_each() {
    let sections = "\n[puppetdb]\nconf = '/nonexistent/puppetdb.conf'\n";
    let world = World::of(crate::installation(""), &[]).await;
    world.installation.configure(sections).unwrap();
    let mut world = world;
    world.kill_server().await;
    world.start_server().await;
    let diagnosis = Diagnosis::of(&world.root().join("tutti.toml")).await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    // It is in `broker.remote_brokers` of every installation of the tests.
    diagnosis.has_one("brokers", "problem", "broker.test");
    diagnosis.has_one("features", "problem", "/nonexistent/puppetdb.conf");
    diagnosis.has_one("puppetdb", "problem", "/nonexistent/puppetdb.conf");
    world.stop().await;
}

#[tokio::test]
async fn a_port_that_another_program_holds_is_named_with_the_program() {
    let mut world = World::start(&[]).await;
    world.kill_server().await;
    let address = format!("127.0.0.1:{}", world.installation.broker_port());
    let _held = std::net::TcpListener::bind(&address).unwrap();
    let diagnosis = Diagnosis::of(&world.root().join("tutti.toml")).await;
    diagnosis.has_one("ports", "problem", &address);
    world.stop().await;
}

#[tokio::test]
async fn a_puppetdb_that_is_away_does_not_hold_the_other_checks_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let section = format!("\n[puppetdb]\nserver_urls = ['http://{address}']\n");
    let mut world = World::of(crate::installation(&section), &[]).await;
    world.kill_server().await;
    let began = std::time::Instant::now();
    let diagnosis = Diagnosis::of(&world.root().join("tutti.toml")).await;
    diagnosis.has_one("puppetdb", "problem", "no answer within 15 s");
    diagnosis.has_one("database", "ok", "held by no server");
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    world.stop().await;
}

/// The JSON output of `tutti-agent doctor` for a node.
async fn of_node(world: &World, certname: &str) -> Diagnosis {
    let agent = Path::new(env!("CARGO_BIN_EXE_tutti")).with_file_name("tutti-agent");
    let config = world
        .installation
        .agent_home(certname)
        .join("pxp-agent.conf");
    let mut command = Command::new(agent);
    command.args(["doctor", "--format", "json", "--config-file"]);
    let output = command.arg(config).output().await.unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    Diagnosis {
        code: output.status.code(),
        findings: document["findings"].as_array().unwrap().clone(),
    }
}

#[tokio::test]
async fn a_node_is_looked_at_while_its_agent_stays_connected() {
    let mut world = World::start(&["web1.example.com"]).await;
    let path = "/orchestrator/v1/inventory/web1.example.com";
    let since = world.client.get(path).await.unwrap()["timestamp"].clone();
    let diagnosis = of_node(&world, "web1.example.com").await;
    assert_eq!(diagnosis.code, Some(0), "{:#?}", diagnosis.findings);
    diagnosis.has_one("brokers", "ok", "is the expected one");
    diagnosis.has_one("task files", "ok", "it answers");
    let now = world.client.get(path).await.unwrap();
    assert_eq!(now["timestamp"], since, "its session goes on: {now}");

    world.kill_server().await;
    let diagnosis = of_node(&world, "web1.example.com").await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    diagnosis.has_one("brokers", "problem", "cannot be reached");
    world.stop().await;
}

#[tokio::test]
async fn a_node_that_waits_for_its_signature_is_one_line_with_the_command() {
    let world = World::start(&[]).await;
    let home = world.root().join("waiting");
    let ssl = home.join("ssl");
    std::fs::create_dir_all(ssl.join("private_keys")).unwrap();
    std::fs::write(ssl.join("private_keys/web9.example.com.pem"), "a key").unwrap();
    let key = ssl.join("private_keys/web9.example.com.pem");
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let home_of_agent = world.installation.agent_home("web9.example.com");
    std::fs::create_dir_all(&home_of_agent).unwrap();
    let text = format!(
        "broker-ws-uris : [\"wss://localhost:{}/pcp2/\"]\npcp-version : \"2\"\nca-uri : \"localhost:{}\"\n\
         certname : \"web9.example.com\"\nssl-dir : {ssl:?}\nspool-dir : {home:?}\ntask-cache-dir : {home:?}\n",
        world.installation.broker_port(),
        world.installation.puppet_api_port()
    );
    std::fs::write(home_of_agent.join("pxp-agent.conf"), text).unwrap();
    let diagnosis = of_node(&world, "web9.example.com").await;
    let problems = diagnosis
        .findings
        .iter()
        .filter(|it| it["severity"] == "problem");
    let problems: Vec<_> = problems.collect();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(
        problems[0]["remedy"],
        "tutti ca sign web9.example.com  # on the server"
    );
    world.stop().await;
}
