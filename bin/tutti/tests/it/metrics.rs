//! Prometheus metrics of a job.

use reqwest::Method;
use serde_json::json;

use crate::world::World;

/// The value of a metric without labels.
fn figure(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value)
}

#[tokio::test]
async fn a_job_shows_in_the_figures() {
    let world = World::start(&["node0.test"]).await;
    world.shell("nothing", &[], "true");
    let row = world.run("nothing", "node0.test", json!({})).await;
    assert_eq!(row["state"], "finished");

    let answer = world.client.request(Method::GET, "/metrics").send().await;
    let answer = answer.unwrap().error_for_status().unwrap();
    assert_eq!(
        answer.headers()["content-type"],
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let text = answer.text().await.unwrap();
    for (name, wanted) in [
        ("tutti_jobs_created_total", 1),
        ("tutti_runs_started_total", 1),
        ("tutti_runs_ended_total", 1),
        ("tutti_runs_errored_total", 0),
        ("tutti_runs_in_flight", 0),
        ("tutti_runs_queued", 0),
        ("tutti_commit_failures_total", 0),
        ("tutti_refused_changes_total", 0),
        ("tutti_nodes_connected", 1),
        ("tutti_logins_total", 1),
        ("tutti_failed_logins_total", 0),
        ("tutti_lockouts_total", 0),
        ("tutti_audit_failures_total", 0),
        ("tutti_webhook_failures_total", 0),
        ("tutti_schedules_launched_total", 0),
        ("tutti_ssh_runs_total", 0),
        ("tutti_reruns_total", 0),
        ("tutti_rerun_waits_total", 0),
        ("tutti_reruns_left_out_total", 0),
    ] {
        assert_eq!(figure(&text, name), Some(wanted), "{name} in {text}");
        let family = name.trim_end_matches("_total");
        assert!(text.contains(&format!("# HELP {family} ")), "{name}");
    }
    for name in ["tutti_audit_entries_total", "tutti_token_cache_hits_total"] {
        assert!(figure(&text, name) > Some(0), "{name} in {text}");
    }
}
