//! Waves in words, for the events of plan jobs.
//!
//! Invariant: no decision depends on these texts.

use crate::node_run::{NodeRun, RunEnd};
use crate::outcome::count_nodes;
use crate::progress::{NextWave, RerunCounts};

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

fn join_counts(parts: &[(usize, &str)]) -> String {
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    parts.join(", ")
}
