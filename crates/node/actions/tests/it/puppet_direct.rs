//! Runs that start Puppet only if it has work.

use serde_json::{Value, json};

use super::primary::{Answer, Certificates, Primary};
use super::puppet_fake::{Puppet, reports};

const CATALOG_UUID: &str = "06702c6d-a713-4611-80a5-f0de71828dc3";

/// The line of a report that names the catalog.
fn uuid_line() -> String {
    format!("catalog_uuid: {CATALOG_UUID}\n")
}

/// A node whose last catalog wants the file `motd` to have the content `hello`.
struct DirectNode {
    puppet: Puppet,
    server: Primary,
}

impl DirectNode {
    async fn start(answers: &[Answer], interval_s: u64) -> Self {
        let agent = format!("{}exit 0\n", reports("unchanged", &uuid_line()));
        let puppet = Puppet::start(&agent).await;
        let home = &puppet.home;
        let files = Certificates::make(home);
        let server = Primary::start(files.server, answers).await;
        let (cert, key, ca) = (&files.agent.cert, &files.agent.key, &files.agent.ca);
        let more = format!(
            "client_datadir = {0}/data\nhostcert = {1}\nhostprivkey = {2}\nlocalcacert = {3}\n\
             hostcrl = {0}/none\ncertname = node.example\nserver_list = {4}\n",
            home.display(),
            cert.display(),
            key.display(),
            ca.display(),
            server.uri().trim_start_matches("https://"),
        );
        std::fs::write(home.join("config.more"), more).unwrap();
        puppet.configure(&json!({
            "puppet_bin": home.join("puppet"), "files": "native", "full_run_interval_s": interval_s,
        }));
        let node = Self { puppet, server };
        node.write_catalog("1");
        std::fs::write(node.motd(), "hello").unwrap();
        node
    }

    fn motd(&self) -> std::path::PathBuf {
        self.puppet.home.join("motd")
    }

    fn write_catalog(&self, version: &str) {
        let directory = self.puppet.home.join("data/catalog");
        std::fs::create_dir_all(&directory).unwrap();
        let catalog = json!({
            "name": "node.example", "version": version, "environment": "production",
            "code_id": "urn:puppet:code-id:1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;production",
            "catalog_uuid": CATALOG_UUID,
            "resources": [
                {"type": "Class", "title": "Main"},
                {"type": "File", "title": "motd", "parameters": {"path": self.motd(), "content": "hello"}},
                {"type": "Service", "title": "sshd", "parameters": {"ensure": "running"}},
            ],
        });
        let path = directory.join("node.example.json");
        std::fs::write(path, catalog.to_string()).unwrap();
    }

    /// The arguments of each run of Puppet since the last call.
    fn runs(&self) -> Vec<bool> {
        let count = self.puppet.lines("runs").len();
        let _ = std::fs::remove_file(self.puppet.home.join("runs"));
        let cached = self
            .puppet
            .lines("args")
            .iter()
            .any(|word| word == "--use_cached_catalog");
        vec![cached; count]
    }
}

fn current() -> Answer {
    Answer::ok(br#"{"current": true}"#)
}

#[tokio::test]
async fn puppet_is_started_only_for_files_that_drifted() {
    let node = DirectNode::start(&[current()], 3_600).await;
    // no complete run is known
    node.puppet.run().await;
    assert_eq!(node.runs(), [false]);
    assert!(node.server.requests().is_empty());

    let result = node.puppet.run().await;
    assert!(node.runs().is_empty(), "{result:?}");
    assert_eq!((result.status.as_str(), result.exitcode), ("unchanged", 0));
    assert_eq!(
        result.cached_catalog_status.as_deref(),
        Some("explicitly_requested")
    );
    assert!(result.code_id.unwrap().as_str().contains("aaaa"));
    assert_eq!(result.metrics["total"], 2);
    assert_eq!(result.errors, [] as [String; 0]);
    let requests = node.server.requests();
    assert_eq!(
        requests,
        [
            "POST /tutti/v1/catalogs/node.example/check HTTP/1.1",
            "PUT /puppet/v3/report/node.example?environment=production HTTP/1.1",
        ]
    );
    let bodies = node.server.bodies();
    let question: Value = serde_json::from_slice(&bodies[0]).unwrap();
    assert_eq!(
        question,
        json!({"environment": "production", "catalog_uuid": CATALOG_UUID})
    );
    let report: Value = serde_json::from_slice(&bodies[1]).unwrap();
    assert_eq!(report["transaction_uuid"], result.transaction_uuid.as_str());
    assert_eq!(report["job_id"], "71");
    assert_eq!(report["host"], "node.example");

    // Puppet repairs it, from the last catalog
    std::fs::write(node.motd(), "drifted").unwrap();
    node.puppet.run().await;
    assert_eq!(node.runs(), [true]);

    // a run with options of its own is Puppet's
    node.puppet.ask(&["--noop"]);
    node.puppet.result().await;
    assert_eq!(node.runs(), [false]);
}

#[tokio::test]
async fn puppet_asks_for_a_catalog_if_the_last_one_is_not_known_to_be_current() {
    let outdated = Answer::ok(br#"{"current": false, "reason": "another version is live"}"#);
    let answers = [
        outdated,
        Answer::status("HTTP/1.1 404 Not Found"),
        Answer::ok(b"<html>"),
        Answer::ok(br#"{"current": 1}"#),
        Answer::status("HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/"),
    ];
    let node = DirectNode::start(&answers, 3_600).await;
    node.puppet.run().await;
    assert_eq!(node.runs(), [false]);
    for answer in &answers {
        let result = node.puppet.run().await;
        assert_eq!(node.runs(), [false], "{answer:?}");
        assert_eq!(result.cached_catalog_status, None);
    }
    assert_eq!(node.server.requests().len(), answers.len());

    // another run got another catalog
    node.write_catalog("2");
    node.puppet.run().await;
    assert_eq!(node.runs(), [false]);
    assert_eq!(
        node.server.requests().len(),
        answers.len(),
        "it is not asked"
    );

    // no catalog, and none that is one
    let path = node.puppet.home.join("data/catalog/node.example.json");
    for damage in [&b"{"[..], b"", b"[]", b"{\"name\": 1}"] {
        std::fs::write(&path, damage).unwrap();
        node.puppet.run().await;
        assert_eq!(node.runs(), [false]);
    }
    std::fs::remove_file(&path).unwrap();
    node.puppet.run().await;
    assert_eq!(node.runs(), [false]);
}

#[tokio::test]
async fn puppet_runs_once_in_the_interval_in_any_case() {
    let node = DirectNode::start(&[current()], 0).await;
    for _ in 0..2 {
        node.puppet.run().await;
        assert_eq!(node.runs(), [false]);
    }
    assert!(node.server.requests().is_empty());
}

#[tokio::test]
async fn after_a_failed_run_files_alone_are_not_enough() {
    let node = DirectNode::start(&[current()], 3_600).await;
    node.puppet.run().await;
    node.puppet.run().await;
    assert_eq!(node.runs(), [false], "the second one needed no Puppet");
    node.puppet
        .plays(&format!("{}exit 4\n", reports("failed", "")));
    std::fs::write(node.motd(), "drifted").unwrap();
    node.puppet.run().await;
    assert_eq!(node.runs(), [true], "the repair fails");
    std::fs::write(node.motd(), "hello").unwrap();
    node.puppet
        .plays(&format!("{}exit 0\n", reports("unchanged", &uuid_line())));
    node.puppet.run().await;
    assert_eq!(node.runs(), [false], "a complete run makes up for it");
    node.puppet.run().await;
    assert!(node.runs().is_empty());
}
