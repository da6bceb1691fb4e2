//! Runs that outlive the server, and runs that are ended.

use std::path::Path;

use conformance::gate::Gate;
use conformance::ran::Ran;
use conformance::site::Site;
use serde_json::json;

use crate::{NODE1, for_nodes};

/// Puppet comes to the gate within it also on a busy machine, where a run was seen to take 22 s; on
/// an idle one it takes 5 s.
const TIME_LIMIT_S: u32 = 70;

pub(crate) async fn a_killed_server_loses_nothing(site: &mut Site) {
    let gate = Gate::new(site, "killed");
    site.manifest("production", &for_nodes(&[(NODE1, &gate.resource())]));
    let job = site.deploy(&[NODE1], json!({})).await;
    gate.reached().await;
    site.kill_server().await;
    gate.open();
    site.resume_server().await;
    let ran = site.ended(job).await;
    let result = ran.ended(NODE1, "finished");
    assert_eq!(result["status"], "changed", "{result:#}");
    assert!(result["hash"].is_string(), "{result:#}");
    assert_eq!(gate.count(), 1, "it ran once");
    ran.said.expect(0, &["SUCCESS! (changed)"]);
}

pub(crate) async fn a_forced_stop_ends_the_run(site: &mut Site) {
    let gate = Gate::new(site, "stopped");
    site.manifest("production", &for_nodes(&[(NODE1, &gate.resource())]));
    let job = site.deploy(&[NODE1], json!({})).await;
    gate.reached().await;
    let stopped = site
        .cli(&["job", "stop", &job.to_string(), "--force"])
        .await;
    stopped.expect(0, &[]);
    let ran = site.ended(job).await;
    assert_eq!(ran.job["state"], "stopped", "{}", ran.job);
    is_over(site, &ran, "failed", "tutti/stopped", &gate).await;
}

pub(crate) async fn time_that_is_up_ends_the_run(site: &mut Site) {
    let gate = Gate::new(site, "late");
    site.manifest("production", &for_nodes(&[(NODE1, &gate.resource())]));
    let job = site
        .deploy(&[NODE1], json!({"timeout": TIME_LIMIT_S}))
        .await;
    gate.reached().await;
    let ran = site.ended(job).await;
    is_over(site, &ran, "errored", "tutti/timeout", &gate).await;
}

/// Nothing of the run is left, and the next one runs.
async fn is_over(site: &Site, ran: &Ran, state: &str, kind: &str, gate: &Gate) {
    assert_eq!(ran.state(NODE1), state, "{:#}", ran.nodes[NODE1]);
    assert_eq!(ran.error(NODE1)["kind"], kind, "{:#}", ran.nodes[NODE1]);
    assert_eq!(ran.end(NODE1)["type"], format!("node_{state}"));
    assert_eq!(ran.said.code, Some(1), "{}", ran.said.text);
    let left = processes_that_name(site.puppet(NODE1).home());
    assert!(left.is_empty(), "{left:?}");
    let left = processes_that_name(gate.directory());
    assert!(left.is_empty(), "{left:?}");
    gate.open();
    site.run(&[NODE1], json!({})).await.ended(NODE1, "finished");
}

/// The command lines that have this path in them.
fn processes_that_name(path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let words = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let words = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
    words.filter(|words| words.contains(path)).collect()
}
