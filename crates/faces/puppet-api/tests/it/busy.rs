//! A server whose queue of compilations is full, with real agents.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use compiler::{ExportSearch, ExportSearchError, ExportedResource, ExportedResources};
use puppet_api::defaults::{BUSY_RETRY_MAX, BUSY_RETRY_MIN};
use reqwest::Method;
use testkit::peers::Puppet8;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::Command;
use tokio::sync::Notify;

use crate::agents::{facts_of, form, post};
use crate::site::{Site, SiteOptions};

/// Exported resources that are found when the gate is opened.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
    /// Told when a search begins.
    entered: Notify,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl ExportedResources for Gate {
    fn search(&self, _: &ExportSearch<'_>) -> Result<Vec<ExportedResource>, ExportSearchError> {
        self.entered.notify_one();
        let is_open = self.is_open.lock().unwrap();
        drop(
            self.changed
                .wait_while(is_open, |is_open| !*is_open)
                .unwrap(),
        );
        Ok(Vec::new())
    }
}

/// Opens the gate however a test ends, so that no thread waits for ever.
struct OpenAtEnd(Arc<Gate>);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Runs an agent while the queue is full, which has room as soon as the agent says that it waits. The result is what it
/// printed, and its exit code.
async fn run_refused_agent(command: impl FnOnce(&Path) -> Vec<OsString>) -> (String, Option<i32>) {
    let gate = Arc::new(Gate::default());
    let ends = OpenAtEnd(Arc::clone(&gate));
    let site = Site::with(SiteOptions {
        has_agents: true,
        exports: Some(gate.clone()),
        waiting_max: Some(1),
        ..SiteOptions::default()
    })
    .await;
    let manifests = site.module_file("../../manifests");
    fs::create_dir_all(&manifests).unwrap();
    let manifest = "node /^blocker/ { Notify <<| |>> }\nnode default { notify { 'done': } }\n";
    fs::write(manifests.join("site.pp"), manifest).unwrap();
    // one compilation runs, and one waits
    let mut blockers = Vec::new();
    for name in ["blocker1", "blocker2"] {
        let client = site.node(name);
        blockers.push(tokio::spawn(async move {
            post(&client, name, form("production", &facts_of(name))).await
        }));
        match name {
            "blocker1" => gate.entered.notified().await,
            _ => {
                while site.catalogs.counts().0 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    let refused = site
        .node("web1")
        .request(
            Method::POST,
            "/puppet/v3/catalog/web1?environment=production",
        )
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form("production", &facts_of("web1")))
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 503);
    let pause = refused.headers()["retry-after"].to_str().unwrap();
    let pause = Duration::from_secs(pause.parse().unwrap());
    assert!(
        pause >= BUSY_RETRY_MIN && pause <= BUSY_RETRY_MAX,
        "{pause:?}"
    );

    let home = tempfile::tempdir().unwrap();
    let mut words = command(home.path()).into_iter();
    let mut agent = Command::new(words.next().unwrap())
        .args(words)
        .args(site.agent_arguments("web1", home.path()))
        .args([
            "--onetime",
            "--no-daemonize",
            "--no-pluginsync",
            "--color",
            "false",
        ])
        .args([
            "--detailed-exitcodes",
            "--no-usecacheonfailure",
            "--logdest",
            "console",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let warnings = BufReader::new(agent.stderr.take().unwrap()).lines();
    let notices = BufReader::new(agent.stdout.take().unwrap()).lines();
    let printed = tokio::join!(read(warnings, &gate), read(notices, &gate));
    let status = agent.wait().await.unwrap();
    gate.open();
    for blocker in blockers {
        assert_eq!(blocker.await.unwrap().0, 200);
    }
    drop(ends);
    (printed.0 + &printed.1, status.code())
}

async fn read<R: AsyncBufRead + Unpin>(mut lines: Lines<R>, gate: &Gate) -> String {
    let mut printed = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        printed.push_str(&line);
        printed.push('\n');
        if line.contains("Sleeping for") {
            gate.open();
        }
    }
    printed
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_waits_as_it_is_told_and_runs_when_the_queue_has_room() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let puppet = Puppet8::new().unwrap();
    let (printed, code) = Box::pin(run_refused_agent(|home| puppet.puppet_command(home))).await;
    assert!(printed.contains("Sleeping for"), "{printed}");
    assert_eq!(code, Some(2), "{printed}");
}

/// It waits, and then does not send its request again: it reads the rest of an answer whose connection it has closed.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_7_23_waits_and_ends_its_run() {
    if std::process::Command::new("puppet")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("SKIPPED: puppet is not installed");
        return;
    }
    let (printed, code) = Box::pin(run_refused_agent(|_| vec!["puppet".into()])).await;
    assert!(printed.contains("Sleeping for"), "{printed}");
    assert!(
        printed.contains("attempt to read body out of block"),
        "{printed}"
    );
    assert_eq!(code, Some(1), "{printed}");
}
