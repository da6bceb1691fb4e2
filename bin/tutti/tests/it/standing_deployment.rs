//! Agents whose requests are answered while a deployment of their environment stands still in each of its phases.
//!
//! A test of latencies cannot tell a lock from a busy processor. Here the deployment does not go on before all kinds of
//! requests were answered, so a request that waited for it would never be.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::agent_requests;
use testkit::client::Client;
use testkit::control_repository::{ControlRepository, PRODUCTION};
use testkit::https_connection::HttpsConnection;
use testkit::installation::{Installation, Programs};
use testkit::release_traffic::{ReleaseTraffic, Releases, RequestKind, TrafficProgress};

use crate::frozen_disk::{FreezableDisk, wait_for_standstill};

const NODES: usize = 2;

/// Time after which a request counts as waiting for the deployment. It only bounds a test that fails.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// A program of the deployment that stands still when it is called.
struct ProgramStop {
    /// Written when the program stands still.
    reached: PathBuf,
    /// Read by the program, which goes on then.
    go: PathBuf,
    /// The program stands still only if this exists.
    armed: PathBuf,
}

// === impl ProgramStop ===

impl ProgramStop {
    fn new(directory: &Path, name: &str) -> Self {
        let path = |end: &str| directory.join(format!("{name}.{end}"));
        let stop = Self {
            reached: path("reached"),
            go: path("go"),
            armed: path("armed"),
        };
        let made = Command::new("mkfifo")
            .args([&stop.reached, &stop.go])
            .status();
        assert!(made.unwrap().success());
        stop
    }

    /// Lines of a shell that stand still once.
    fn script(&self) -> String {
        let [reached, go, armed] = [&self.reached, &self.go, &self.armed].map(|it| it.display());
        format!("if [ -e {armed} ]; then rm {armed}; : >{reached}; read -r _ <{go}; fi\n")
    }

    fn arm(&self) {
        std::fs::write(&self.armed, "").unwrap();
    }

    /// Waits until the program stands still.
    async fn reached(&self) {
        let path = self.reached.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path).unwrap());
        tokio::time::timeout(ANSWER_TIME, read)
            .await
            .unwrap()
            .unwrap();
    }

    async fn let_go(&self) {
        let path = self.go.clone();
        let write = tokio::task::spawn_blocking(move || std::fs::write(path, "go\n").unwrap());
        write.await.unwrap();
    }
}

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The requests of agents while the deployment stands still.
struct StandingDeployment<'t> {
    installation: &'t Installation,
    progress: TrafficProgress,
    /// Number of phases so far.
    phases: usize,
}

impl StandingDeployment<'_> {
    /// Waits until all requests of all nodes were answered that were sent in this phase, and those of a new node, whose
    /// catalog must be compiled from the release.
    async fn answers(&mut self, phase: &str, release: u32) {
        self.phases += 1;
        let certname = format!("new{}.test", self.phases);
        let asked = async {
            self.progress.whole_round().await.unwrap();
            self.ask_as_new_node(&certname, release).await;
        };
        let answered = tokio::time::timeout(ANSWER_TIME, asked).await;
        assert!(
            answered.is_ok(),
            "a request waits for the deployment: {phase}"
        );
    }

    async fn ask_as_new_node(&self, certname: &str, release: u32) {
        let port = self.installation.puppet_api_port();
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let tls = self.installation.client_tls(certname).unwrap();
        let from = IpAddr::from(Ipv4Addr::LOCALHOST);
        let mut connection = HttpsConnection::open(server, from, tls).await.unwrap();
        let facts = json!({"kernel": "Linux"});
        let catalog = agent_requests::catalog_as_text(certname, PRODUCTION, &facts);
        connection.ask(catalog.as_bytes()).await.unwrap();
        let catalog: serde_json::Value = serde_json::from_slice(connection.body()).unwrap();
        let text = catalog.to_string();
        assert!(text.contains(&format!("release-{release:06}")), "{text}");
        let uuid = catalog["catalog_uuid"].as_str().unwrap();
        let check = agent_requests::catalog_check(certname, PRODUCTION, uuid);
        connection.ask(check.as_bytes()).await.unwrap();
        let body = String::from_utf8_lossy(connection.body());
        assert!(body.contains("\"current\":true"), "{body}");
        let report = agent_requests::unchanged_report(certname, PRODUCTION, uuid);
        connection.ask(report.as_bytes()).await.unwrap();
    }
}

/// Waits until the version of a commit is complete in the store.
async fn wait_for_version(root: &Path, commit: &str) {
    let versions = root.join("versions/versions");
    let is_complete = || {
        let mut versions = std::fs::read_dir(&versions).unwrap().flatten();
        versions.any(|version| {
            let name = version.file_name();
            let is_version = name.to_string_lossy().starts_with("production_");
            let described = std::fs::read_to_string(version.path().join(".r10k-deploy.json"));
            is_version && described.is_ok_and(|text| text.contains(commit))
        })
    };
    let until = Instant::now() + ANSWER_TIME;
    // the server tells of it only when the version is live
    while !is_complete() {
        assert!(Instant::now() < until, "no version of {commit}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_waits_for_a_deployment() {
    let programs = Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap();
    let installation = Installation::new(programs, "").unwrap();
    let root = installation.root().to_owned();
    let store = FreezableDisk::mount(&root.join("store.img"), &root.join("versions"));
    let Some(store) = store else { return };
    let links = installation.code_dir().join("environments");
    let Some(links) = FreezableDisk::mount(&root.join("links.img"), &links) else {
        return;
    };
    let control = ControlRepository::create(&installation).unwrap();
    let fetching = ProgramStop::new(&root, "fetching");
    let fetched = ProgramStop::new(&root, "fetched");
    let building = ProgramStop::new(&root, "building");
    let after_switch = ProgramStop::new(&root, "postrun");
    let programs = root.join("programs");
    std::fs::create_dir(&programs).unwrap();
    // the contents of the files are read while the version is built
    let git = format!(
        "case \" $* \" in\n*' fetch '*) {}/usr/bin/git \"$@\"\nstatus=$?\n{}exit $status ;;\n\
         *' cat-file '*) {} ;;\nesac\nexec /usr/bin/git \"$@\"\n",
        fetching.script(),
        fetched.script(),
        building.script()
    );
    write_program(&programs.join("git"), &git);
    write_program(&programs.join("postrun"), &after_switch.script());
    let r10k = root.join("r10k.yaml");
    let mut settings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&r10k).unwrap()).unwrap();
    settings["postrun"] = json!([programs.join("postrun")]);
    std::fs::write(&r10k, settings.to_string()).unwrap();

    let releases = Arc::new(Releases::new(2));
    let commits = control.import(releases.commits()).unwrap();
    let mut server = installation.server();
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display());
    server.environment.push(("PATH".into(), path.into()));
    // with one thread for all tasks, no task may wait for a disk on it
    server
        .environment
        .push(("TOKIO_WORKER_THREADS".into(), "1".into()));
    let server = server.start().await.unwrap();
    let pid = server.pid();
    let client = Client::login(&installation).await.unwrap();
    control.set_branch(PRODUCTION, &commits[0]).unwrap();
    control.deploy(&client, PRODUCTION).await.unwrap();

    let mut traffic = ReleaseTraffic::new(&installation, &releases, NODES).unwrap();
    let stepping = traffic.during(0, |progress| async {
        let mut standing = StandingDeployment {
            installation: &installation,
            progress,
            phases: 0,
        };
        for stop in [&fetching, &fetched, &building, &after_switch] {
            stop.arm();
        }
        control.set_branch(PRODUCTION, &commits[1])?;
        let deploying = control.deploy(&client, PRODUCTION);
        let steps = async {
            fetching.reached().await;
            standing.answers("it fetches", 1).await;
            fetching.let_go().await;
            fetched.reached().await;
            store.freeze();
            fetched.let_go().await;
            wait_for_standstill(pid).await;
            standing.answers("it writes what it has fetched", 1).await;
            store.thaw();
            building.reached().await;
            standing.answers("it builds the version", 1).await;
            links.freeze();
            building.let_go().await;
            // before that, a thread may stand still for another reason
            wait_for_version(&root, &commits[1]).await;
            wait_for_standstill(pid).await;
            standing.answers("it switches", 1).await;
            links.thaw();
            after_switch.reached().await;
            standing.answers("it has switched", 2).await;
            after_switch.let_go().await;
        };
        let (deployed, ()) = tokio::join!(deploying, steps);
        deployed.map(drop)
    });
    let report = stepping.await.unwrap();
    for kind in [
        RequestKind::Catalog,
        RequestKind::Metadata,
        RequestKind::Content,
        RequestKind::ContentByHash,
    ] {
        let seen: Vec<u32> = report.releases(kind).into_iter().collect();
        assert_eq!(seen, [1, 2], "{kind:?}");
    }
    server.stop().await.unwrap();
}
