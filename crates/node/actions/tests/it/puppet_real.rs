//! Runs of the real `puppet agent`, if it is installed, without a server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pxp::action::{
    HoldLeaseResult, HoldLeaseState, PuppetCause, PuppetErrorType, PuppetResourceStatus,
    PuppetResult, lease_variable,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fake::{Node, PATIENCE, until};
use super::primary::Certificates;

const CERTNAME: &str = "agent";

/// Code id of the catalog of an earlier run.
const CODE_ID: &str = "urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;production";

#[expect(
    clippy::print_stdout,
    reason = "a test that was not run must not look like one that passed"
)]
fn installed() -> Option<PathBuf> {
    let places = ["/opt/puppetlabs/bin/puppet", "/usr/bin/puppet"];
    let found = places.iter().map(Path::new).find(|path| path.exists());
    if found.is_none() {
        println!("NOT RUN: Puppet is not installed; install puppet-agent");
    }
    found.map(Path::to_owned)
}

/// A node whose Puppet uses only the node's directory.
struct Real {
    node: Node,
    home: PathBuf,
}

impl Real {
    async fn start(puppet: &Path) -> Self {
        let node = Node::start_with(|config, dir| {
            config.modules_config_dir = Some(dir.join("modules.d"));
            std::fs::create_dir(dir.join("modules.d")).unwrap();
        })
        .await;
        let home = node.dir.path().join("puppet");
        std::fs::create_dir_all(home.join("conf")).unwrap();
        // No process listens on port 1.
        let conf = format!(
            "[main]\nserver = localhost\nserverport = 1\ncertname = {CERTNAME}\n\
             ssldir = {}/ssl\ncertificate_revocation = false\npluginsync = false\n",
            home.display()
        );
        std::fs::write(home.join("conf/puppet.conf"), conf).unwrap();
        let bin = home.join("puppet");
        let script = format!(
            "#!/bin/sh\nexec {} \"$@\" --confdir {1}/conf --vardir {1}/var --rundir {1}/run\n",
            puppet.display(),
            home.display()
        );
        std::fs::write(&bin, script).unwrap();
        std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = json!({ "puppet_bin": bin }).to_string();
        let path = node.dir.path().join("modules.d/pxp-module-puppet.conf");
        std::fs::write(path, config).unwrap();
        Self { node, home }
    }

    /// Certificates as from a server, and a catalog of an earlier run.
    fn has_run_before(&self) {
        let dir = self.home.join("ca");
        std::fs::create_dir(&dir).unwrap();
        let made = Certificates::make(&dir);
        for (from, to) in [
            (made.agent.ca, "ssl/certs/ca.pem".to_owned()),
            (made.agent.cert, format!("ssl/certs/{CERTNAME}.pem")),
            (made.agent.key, format!("ssl/private_keys/{CERTNAME}.pem")),
        ] {
            let to = self.home.join(to);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
        let file = self.home.join("motd");
        let resource = |kind: &str, title: &str, line: u32, parameters: Value| {
            json!({"type": kind, "title": title, "tags": [], "file": "/code/site.pp", "line": line,
                "exported": false, "kind": "class", "parameters": parameters})
        };
        let file_name = file.to_str().unwrap();
        let mut changed = resource(
            "File",
            file_name,
            3,
            json!({"ensure": "file", "content": "x"}),
        );
        let mut failed = resource("Exec", "fails", 9, json!({"command": "/bin/false"}));
        for resource in [&mut changed, &mut failed] {
            resource.as_object_mut().unwrap().shift_remove("kind");
        }
        let edge = |from: &str, to: &str| json!({"source": from, "target": to});
        let catalog = json!({
            "tags": [], "name": CERTNAME, "version": 17, "code_id": CODE_ID, "catalog_format": 1,
            "catalog_uuid": "0d4a3c92-7ba3-4f7a-9e1e-1df2a4a1d001", "environment": "production",
            "resources": [
                resource("Stage", "main", 0, json!({"name": "main"})),
                resource("Class", "Main", 0, json!({"name": "main"})),
                changed,
                failed,
            ],
            "edges": [
                edge("Stage[main]", "Class[Main]"),
                edge("Class[Main]", &format!("File[{file_name}]")),
                edge("Class[Main]", "Exec[fails]"),
            ],
            "classes": [],
        });
        let cache = self.home.join("var/client_data/catalog");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join(format!("{CERTNAME}.json")), catalog.to_string()).unwrap();
    }

    fn puppet(&self, args: &[&str]) {
        let status = Command::new(self.home.join("puppet"))
            .args(args)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "puppet {args:?}");
    }

    /// The output of `puppet agent`, as a timer starts it.
    fn run_by_timer(&self) -> String {
        let output = Command::new(self.home.join("puppet"))
            .args(["agent", "--onetime", "--no-daemonize", "--verbose"])
            .args(["--color", "false", "--use_cached_catalog", "--noop"])
            .output()
            .unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    async fn hold_lease(&self, lease: Uuid) -> HoldLeaseState {
        let params = json!({"lease": lease, "job": "12", "reason": "release", "ttl_s": 300});
        self.node.blocking("tutti", "hold_lease", &params);
        let answer = self.node.broker.results().await;
        let answer: HoldLeaseResult = serde_json::from_value(answer).unwrap();
        answer.state
    }

    async fn run(&self) -> PuppetResult {
        self.run_with(&["--noop"]).await
    }

    async fn run_with(&self, flags: &[&str]) -> PuppetResult {
        let params = json!({"flags": flags, "job": "1"});
        self.node.blocking("pxp-module-puppet", "run", &params);
        serde_json::from_value(self.node.broker.results().await).unwrap()
    }
}

#[tokio::test]
async fn the_real_puppet_without_a_server_says_that_none_answered() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    let result = real.run().await;
    assert_eq!(
        result.cause,
        Some(PuppetCause::ServerUnreachable),
        "{result:?}"
    );
    assert_eq!(result.error_type, Some(PuppetErrorType::AgentExitNonZero));
    assert_eq!(result.detailed_exitcode, Some(1));
    assert_eq!(result.code_id, None, "there was no catalog");
}

#[tokio::test]
async fn the_real_report_is_told() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    real.has_run_before();
    let noop = real.run_with(&["--noop", "--use_cached_catalog"]).await;
    assert_eq!(
        (noop.noop, noop.noop_pending),
        (Some(true), Some(true)),
        "{noop:?}"
    );
    assert_eq!((noop.status.as_str(), noop.error_type), ("unchanged", None));
    assert!(
        noop.resources
            .iter()
            .all(|it| it.status == PuppetResourceStatus::Noop)
    );
    assert!(!real.home.join("motd").exists());

    let result = real.run_with(&["--use_cached_catalog"]).await;
    assert_eq!(
        (result.status.as_str(), result.error_type),
        ("failed", None),
        "{result:?}"
    );
    assert_eq!((result.exitcode, result.detailed_exitcode), (0, Some(6)));
    assert_eq!(result.configuration_version.as_deref(), Some("17"));
    assert_eq!(
        result.code_id,
        Some(CODE_ID.parse().unwrap()),
        "the cached catalog's"
    );
    assert_eq!(noop.code_id, result.code_id);
    assert_eq!(
        result.cached_catalog_status.as_deref(),
        Some("explicitly_requested")
    );
    assert_ne!(result.transaction_uuid, noop.transaction_uuid);
    assert_eq!(
        (&result.metrics["changed"], &result.metrics["failed"]),
        (&json!(1), &json!(1))
    );
    let told: Vec<_> = result
        .resources
        .iter()
        .map(|it| (it.resource_type.as_str(), it.status, it.line))
        .collect();
    let expected = [
        ("Exec", PuppetResourceStatus::Failed, Some(9)),
        ("File", PuppetResourceStatus::Changed, Some(3)),
    ];
    assert_eq!(told, expected);
    assert!(result.resources[0].messages[0].contains("/bin/false"));
    let usual = real.home.join("var/state/last_run_report.yaml");
    let usual = std::fs::read_to_string(usual).unwrap();
    assert!(
        usual.contains(&result.transaction_uuid),
        "the report is where it always is"
    );
}

#[tokio::test]
async fn the_real_puppet_can_be_disabled_and_says_why() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    real.puppet(&["agent", "--disable", "moving day"]);
    let result = real.run().await;
    assert_eq!(result.cause, Some(PuppetCause::Disabled), "{result:?}");
    assert!(result.error.unwrap().contains("moving day"));
    real.puppet(&["agent", "--enable"]);
    assert_eq!(real.run().await.cause, Some(PuppetCause::ServerUnreachable));
}

#[tokio::test]
async fn the_real_lock_is_waited_for() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    // With certificates, Puppet gets as far as its lock and exits itself: the agent does not know
    // the lock before.
    real.has_run_before();
    std::fs::create_dir_all(real.home.join("var/state")).unwrap();
    // A process that both Puppet and the agent take for a run in progress.
    let name = real.home.join("puppet-apply");
    std::os::unix::fs::symlink("/bin/sh", &name).unwrap();
    let mut other = Command::new(&name)
        .args(["-c", "read line", "puppet agent: applying configuration"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let lock = real.home.join("var/state/agent_catalog_run.lock");
    std::fs::write(&lock, other.id().to_string()).unwrap();
    let params = json!({"flags": ["--use_cached_catalog", "--noop"]});
    let id = real.node.non_blocking("pxp-module-puppet", "run", &params);
    assert_eq!(real.node.broker.provisional().await, id);
    let waiting = real.node.entry(&id).join("waiting.json");
    until("it waits", || waiting.exists()).await;
    other.kill().unwrap();
    other.wait().unwrap();
    let result: PuppetResult = serde_json::from_value(real.node.broker.results().await).unwrap();
    assert!(result.waited_ms > 0);
    assert_eq!(
        (result.status.as_str(), result.error_type),
        ("unchanged", None),
        "{result:?}"
    );
}

#[tokio::test]
async fn the_real_puppet_gives_way_to_a_lease() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    real.has_run_before();
    let lock = real.home.join("var/state/agent_catalog_run.lock");
    let lease = Uuid::from_u128(7);
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while real.hold_lease(lease).await != HoldLeaseState::Held {
        assert!(tokio::time::Instant::now() < deadline, "never held");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let holder = std::fs::read_to_string(&lock).unwrap();
    let printed = real.run_by_timer();
    let gives_way = "Run of Puppet configuration client already in progress; skipping";
    assert!(printed.contains(gives_way), "{printed}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), holder);

    let params = json!({
        "flags": ["--use_cached_catalog", "--noop"], "env": [lease_variable(lease)],
    });
    real.node.blocking("pxp-module-puppet", "run", &params);
    let result: PuppetResult = serde_json::from_value(real.node.broker.results().await).unwrap();
    assert_eq!(
        (result.status.as_str(), result.error_type),
        ("unchanged", None),
        "{result:?}"
    );
    assert_eq!(result.waited_ms, 0);
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), holder);

    let params = json!({ "lease": lease });
    real.node.blocking("tutti", "release_lease", &params);
    assert_eq!(real.node.broker.results().await, json!({"released": true}));
    until("the lock is given back", || !lock.exists()).await;
    let printed = real.run_by_timer();
    assert!(
        printed.contains("Applying configuration version"),
        "{printed}"
    );
}

#[tokio::test]
async fn the_real_puppet_removes_the_lock_of_a_killed_lease_holder() {
    let Some(puppet) = installed() else { return };
    let real = Real::start(&puppet).await;
    real.has_run_before();
    let lock = real.home.join("var/state/agent_catalog_run.lock");
    real.hold_lease(Uuid::from_u128(7)).await;
    until("it is held", || lock.exists()).await;
    let pid: i32 = std::fs::read_to_string(&lock).unwrap().parse().unwrap();
    let holder = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
    // Until its parent has noticed its end, it has a name, and Puppet takes it for alive.
    let process = format!("/proc/{pid}");
    until("it is gone", || !Path::new(&process).exists()).await;
    let printed = real.run_by_timer();
    assert!(
        printed.contains("Applying configuration version"),
        "{printed}"
    );
    assert!(!lock.exists());
}
