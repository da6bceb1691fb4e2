//! What a run on demand costs beyond `puppet agent` itself.

use std::time::{Duration, Instant};

use conformance::site::Site;
use serde_json::json;

use crate::NODE1;

/// Pairs that are measured, one of each kind by turns, so that a busy machine is busy for both.
const PAIRS: usize = 11;

pub(crate) async fn overhead(site: &mut Site) {
    site.manifest("production", "notify { 'hello': }");
    let (mut bare, mut demand, mut at_node) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let began = Instant::now();
        let arguments = ["agent", "--test", "--no-usecacheonfailure"];
        let output = site.puppet(NODE1).run(&arguments).await.unwrap();
        let alone = began.elapsed();
        assert_eq!(output.status.code(), Some(2));
        let began = Instant::now();
        let job = site
            .deploy(&[NODE1], json!({"usecacheonfailure": false}))
            .await;
        site.client.stream_until(job, "job_finished").await.unwrap();
        let asked = began.elapsed();
        let ran = site.ended(job).await;
        ran.ended(NODE1, "finished");
        // The first of each warms the server up.
        if pair > 0 {
            bare.push(alone);
            demand.push(asked);
            at_node.push(asked.saturating_sub(alone));
        }
    }
    let figure = json!({
        "bench": "puppet_run_overhead",
        "pairs": PAIRS,
        "bare_ms": median(&mut bare),
        "on_demand_ms": median(&mut demand),
        "median_of_differences_ms": median(&mut at_node),
        "load": load(),
    });
    eprintln!("{figure}");
}

fn median(times: &mut [Duration]) -> u128 {
    times.sort_unstable();
    times[times.len() / 2].as_millis()
}

/// One minute's, which says how far the figures can be trusted.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
