//! Waves in words, for the events of plan jobs.
//!
//! Invariant: no decision depends on these texts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::defaults::LEFT_OUT_NAMED;
use crate::node_run::{NodeRun, RunEnd};
use crate::outcome::count_nodes;
use crate::progress::{NextWave, RerunCounts};
use crate::rerun_budget::{LeftOutReason, RerunLimits, RerunRate};

/// The numbers of runs by their ends.
pub(crate) fn summarize_runs(runs: &[NodeRun]) -> String {
    let count = |is: fn(&RunEnd) -> bool| runs.iter().filter(|run| is(&run.end)).count();
    let changed = count(|end| matches!(end, RunEnd::Succeeded { is_changed: true }));
    let unchanged = count(|end| matches!(end, RunEnd::Succeeded { is_changed: false }));
    let failed = count(|end| matches!(end, RunEnd::Failed { .. }));
    let not_run = count(|end| matches!(end, RunEnd::NotRun { .. } | RunEnd::Skipped { .. }));
    let parts = [
        (changed, "changed"),
        (unchanged, "unchanged"),
        (failed, "failed"),
        (not_run, "did not run"),
    ];
    join_counts(&parts)
}

/// The next wave, with the reasons for it.
pub(crate) fn describe_next(next: &NextWave) -> String {
    let RerunCounts {
        requested,
        imported_data,
        changed,
        skipped,
    } = next.counts;
    let reasons = join_counts(&[
        (requested, "requested it"),
        (imported_data, "with changed data of other nodes"),
        (changed, "with changes"),
        (skipped, "skipped before"),
    ]);
    let nodes = count_nodes(next.nodes.len());
    let when = match next.pause.as_secs_f64() {
        0.0 => String::new(),
        seconds => format!(" in {seconds} s"),
    };
    format!("wave {}{when}: {nodes} ({reasons})", next.number)
}

/// A wave that waits for its reruns.
pub(crate) fn describe_rerun_wait(wave: u32, pause: Duration, last: Option<&str>) -> String {
    let whose = last.map_or_else(
        || "all nodes together have enough of them".to_owned(),
        |node| format!("{node} has one"),
    );
    let seconds = pause.as_secs_f64();
    format!("wave {wave} waits {seconds} s for reruns, until {whose}")
}

/// The nodes that are left out of a wave with so many nodes.
pub(crate) fn name_left_out(
    wave: u32,
    left_out: &BTreeMap<String, String>,
    nodes: usize,
) -> String {
    let names: Vec<&str> = left_out
        .keys()
        .map(String::as_str)
        .take(LEFT_OUT_NAMED)
        .collect();
    let further = left_out.len() - names.len();
    let further = match further {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    format!(
        "{} of {} left out of wave {wave}, without reruns: {}{further}",
        left_out.len(),
        count_nodes(nodes),
        names.join(", ")
    )
}

/// The reason for which a node is left out, in a sentence. `now_ms` is the time of day.
pub(crate) fn describe_left_out(
    reason: &LeftOutReason,
    limits: RerunLimits,
    now_ms: i64,
) -> String {
    let used_up = |rate: RerunRate, next: Duration| {
        let next_ms = i64::try_from(next.as_millis()).unwrap_or(i64::MAX);
        // a second later rather than earlier
        let next = now_ms.saturating_add(next_ms).div_euclid(1_000) + 1;
        let next = match jiff::Timestamp::from_second(next) {
            Ok(time) => format!("the next one is possible at {time}"),
            Err(_) => "no other one is possible".to_owned(),
        };
        let RerunRate { burst, per_hour } = rate;
        format!("are used up (in all jobs {burst} at once, and {per_hour} in an hour); {next}")
    };
    match reason {
        LeftOutReason::Node(next) => format!("its reruns {}", used_up(limits.node, *next)),
        LeftOutReason::Fleet(next) => {
            format!("the reruns of all nodes {}", used_up(limits.fleet, *next))
        }
        LeftOutReason::WaitsFor(node) => {
            format!("it waits for {node}, whose reruns are used up")
        }
    }
}

fn join_counts(parts: &[(usize, &str)]) -> String {
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    parts.join(", ")
}
