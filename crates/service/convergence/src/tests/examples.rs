//! One example for each rule.

use std::time::Duration;

use super::{changed, ending, unchanged};
use crate::node_run::{NodeRun, RunEnd};
use crate::progress::{ConvergenceProgress, EndedWave, NextWave, RerunCounts};
use crate::{ConvergenceOptions, ConvergenceOutcome, ConvergenceState};

const NOBODY: [&str; 0] = [];

/// Options with this number of waves.
fn waves(max_waves: u32) -> ConvergenceOptions {
    ConvergenceOptions {
        max_waves,
        ..ConvergenceOptions::default()
    }
}

fn record(
    progress: &mut ConvergenceProgress,
    runs: impl IntoIterator<Item = NodeRun>,
    changed_imports: &[&str],
) -> Option<NextWave> {
    progress.record_wave(EndedWave {
        runs: runs.into_iter().collect(),
        changed_imports: changed_imports
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
        ..EndedWave::default()
    })
}

/// The nodes of the next wave.
fn next(
    progress: &mut ConvergenceProgress,
    runs: impl IntoIterator<Item = NodeRun>,
    changed_imports: &[&str],
) -> Vec<String> {
    record(progress, runs, changed_imports).map_or_else(Vec::new, |wave| wave.nodes)
}

fn reason(outcome: &ConvergenceOutcome, node: &str) -> (ConvergenceState, String) {
    let node = &outcome.unsettled[node];
    (node.state, node.reason.clone())
}

#[test]
fn only_nodes_that_request_it_run_again() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let runs = [
        changed("a", &["File[/a]"], Some(0)),
        changed("b", &["File[/b]"], None),
        unchanged("c"),
    ];
    assert_eq!(next(&mut progress, runs, &NOBODY), ["a"]);
    assert_eq!(next(&mut progress, [unchanged("a")], &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, ConvergenceState::Converged);
    assert_eq!((outcome.waves, outcome.runs()), (2, 4));
}

#[test]
fn strictly_a_node_runs_until_a_run_changes_nothing() {
    let mut progress = ConvergenceProgress::new(ConvergenceOptions {
        strict: true,
        ..waves(10)
    });
    let runs = [changed("a", &["File[/a]"], None), unchanged("b")];
    assert_eq!(next(&mut progress, runs, &NOBODY), ["a"]);
    assert_eq!(next(&mut progress, [unchanged("a")], &NOBODY), NOBODY);
}

#[test]
fn importers_of_changed_data_run_again_although_they_request_nothing() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let runs = [unchanged("a"), unchanged("b")];
    assert_eq!(next(&mut progress, runs, &["b", "stranger"]), ["b"]);
    // they may do the same with other data
    let again = |progress: &mut ConvergenceProgress, imports: &[&str]| {
        next(progress, [changed("b", &["Exec[join]"], Some(0))], imports)
    };
    assert_eq!(again(&mut progress, &["b"]), ["b"]);
    assert_eq!(again(&mut progress, &NOBODY), ["b"], "its data had changed");
    assert_eq!(again(&mut progress, &NOBODY), NOBODY, "they had not");
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, ConvergenceState::Stalled);
    assert_eq!(outcome.unsettled["b"].resources, ["Exec[join]"]);
}

#[test]
fn a_node_that_changes_the_same_again_is_left_out_and_named() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let a = || changed("a", &["Exec[a]"], Some(0));
    let odd = || changed("b", &["File[/x]: on"], Some(0));
    let even = || changed("b", &["File[/x]: off"], Some(0));
    assert_eq!(next(&mut progress, [a(), odd()], &NOBODY), ["a", "b"]);
    assert_eq!(next(&mut progress, [a(), even()], &NOBODY), ["b"]);
    assert_eq!(next(&mut progress, [odd()], &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, ConvergenceState::Stalled);
    assert_eq!(outcome.nodes_by_runs, [(2, 1), (3, 1)].into());
    let same = "it changed the same as in an earlier run".to_owned();
    assert_eq!(
        reason(&outcome, "a"),
        (ConvergenceState::Stalled, same.clone())
    );
    assert_eq!(reason(&outcome, "b"), (ConvergenceState::Stalled, same));
}

#[test]
fn results_that_leave_out_resources_prove_no_loop() {
    let mut progress = ConvergenceProgress::new(waves(3));
    let run = || {
        let mut run = changed("a", &["Exec[a]"], Some(0));
        run.changes.is_complete = false;
        run
    };
    assert_eq!(next(&mut progress, [run()], &NOBODY), ["a"]);
    assert_eq!(next(&mut progress, [run()], &NOBODY), ["a"]);
    assert_eq!(next(&mut progress, [run()], &NOBODY), NOBODY);
    assert_eq!(progress.into_outcome().state, ConvergenceState::Capped);
}

#[test]
fn the_last_wave_leaves_nodes_unfinished() {
    let mut progress = ConvergenceProgress::new(waves(2));
    assert_eq!(
        next(&mut progress, [changed("a", &["1"], Some(0))], &NOBODY),
        ["a"]
    );
    assert_eq!(
        next(&mut progress, [changed("a", &["2"], Some(0))], &NOBODY),
        NOBODY
    );
    let outcome = progress.into_outcome();
    let words = "its last run requested another one".to_owned();
    assert_eq!(reason(&outcome, "a"), (ConvergenceState::Capped, words));
}

#[test]
fn the_pause_is_the_longest_that_a_node_needs_within_the_limits() {
    let options = ConvergenceOptions {
        min_gap: Duration::from_secs(5),
        max_delay: Duration::from_secs(60),
        ..waves(10)
    };
    let pause = |deltas: &[u64]| {
        let mut progress = ConvergenceProgress::new(options);
        let names: Vec<String> = (0..deltas.len()).map(|node| format!("n{node}")).collect();
        let runs = names.iter().zip(deltas);
        let runs: Vec<_> = runs
            .map(|(name, delta)| changed(name, &["x"], Some(*delta)))
            .collect();
        record(&mut progress, runs, &NOBODY)
            .unwrap()
            .pause
            .as_secs()
    };
    assert_eq!(
        [pause(&[0]), pause(&[0, 20, 3]), pause(&[1_000_000])],
        [5, 20, 60]
    );
}

#[test]
fn nodes_that_fail_or_do_not_run_are_no_success() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let failed = |node: &str, delta| {
        let message = "Exec[x] failed".to_owned();
        ending(
            changed(node, &["Exec[x]"], delta),
            RunEnd::Failed { message },
        )
    };
    let message = "not connected".to_owned();
    let away = ending(unchanged("c"), RunEnd::NotRun { message });
    let runs = [failed("a", Some(0)), failed("b", None), away];
    // one that is away is not tried again because of others
    assert_eq!(next(&mut progress, runs, &["c"]), ["a"]);
    assert_eq!(next(&mut progress, [unchanged("a")], &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, ConvergenceState::Failed);
    assert_eq!(outcome.unsettled.keys().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(outcome.nodes_by_runs, [(0, 1), (1, 1), (2, 1)].into());
}

#[test]
fn a_skipped_node_never_runs_without_the_node_that_it_waits_for() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let message = String::new();
    let db = ending(
        changed("db", &["Exec[x]"], None),
        RunEnd::Failed { message },
    );
    let (message, failed) = (String::new(), "db".to_owned());
    let web = ending(unchanged("web"), RunEnd::Skipped { message, failed });
    assert_eq!(next(&mut progress, [db, web], &["web"]), NOBODY);
    assert_eq!(progress.into_outcome().unsettled_count(), 2);
}

#[test]
fn a_halted_wave_is_the_last_one() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let wave = EndedWave {
        runs: vec![changed("a", &["x"], Some(0))],
        is_halted: true,
        ..EndedWave::default()
    };
    assert_eq!(progress.record_wave(wave), None);
    assert_eq!(progress.into_outcome().state, ConvergenceState::Capped);
}

#[test]
fn an_end_without_knowledge_of_imports_is_no_convergence() {
    let unknown = || EndedWave {
        unknown_imports: ["a".to_owned()].into(),
        ..EndedWave::default()
    };
    let mut progress = ConvergenceProgress::new(waves(10));
    let wave = EndedWave {
        runs: vec![unchanged("a"), changed("b", &["x"], Some(0))],
        ..unknown()
    };
    let second = progress.record_wave(wave);
    assert_eq!(second.map(|wave| wave.nodes), Some(vec!["b".to_owned()]));
    let wave = EndedWave {
        runs: vec![unchanged("b")],
        ..unknown()
    };
    assert_eq!(progress.record_wave(wave), None);
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, ConvergenceState::Unknown);
    assert_eq!(outcome.unsettled.keys().collect::<Vec<_>>(), ["a"]);
}

/// Leaves nodes out of the next wave; returns its nodes.
fn left_out(progress: &mut ConvergenceProgress, next: NextWave, names: &[&str]) -> Vec<String> {
    let reasons = names
        .iter()
        .map(|name| ((*name).to_owned(), "no rerun".to_owned()));
    let next = progress.leave_out(next, reasons.collect());
    next.map_or_else(Vec::new, |wave| wave.nodes)
}

#[test]
fn nodes_without_reruns_are_left_out_of_all_later_waves() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let runs = ["a", "b"].map(|node| changed(node, &["1"], Some(0)));
    let wave = record(&mut progress, runs, &NOBODY).unwrap();
    let names: Vec<String> = progress
        .candidates()
        .into_iter()
        .map(|it| it.certname)
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(left_out(&mut progress, wave, &["a"]), ["b"]);
    let again = [changed("b", &["2"], Some(0))];
    let wave = record(&mut progress, again, &["a"]).unwrap();
    assert_eq!(
        wave.nodes,
        ["b"],
        "also if data of other nodes have changed"
    );
    assert_eq!(left_out(&mut progress, wave, &[]), ["b"]);
    assert_eq!(next(&mut progress, [unchanged("b")], &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    let expected = (ConvergenceState::Throttled, "no rerun".to_owned());
    assert_eq!(reason(&outcome, "a"), expected);
    assert_eq!((outcome.state, outcome.unsettled_count()), (expected.0, 1));
}

#[test]
fn nodes_that_failed_and_have_no_rerun_have_failed() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let message = "Exec[x] failed".to_owned();
    let db = ending(
        changed("db", &["Exec[x]"], Some(0)),
        RunEnd::Failed { message },
    );
    let (message, failed) = ("it waits for db".to_owned(), "db".to_owned());
    let web = ending(unchanged("web"), RunEnd::Skipped { message, failed });
    let wave = EndedWave {
        runs: vec![db, web, unchanged("other")],
        unknown_imports: ["other".to_owned()].into(),
        ..EndedWave::default()
    };
    let wave = progress.record_wave(wave).unwrap();
    let waits_for: Vec<_> = progress
        .candidates()
        .into_iter()
        .map(|it| it.waits_for)
        .collect();
    assert_eq!(waits_for, [None, Some("db".to_owned())]);
    assert_eq!(left_out(&mut progress, wave, &["db", "web"]), NOBODY);
    let outcome = progress.into_outcome();
    let failed = |text: &str| (ConvergenceState::Failed, text.to_owned());
    assert_eq!(reason(&outcome, "db"), failed("Exec[x] failed; no rerun"));
    assert_eq!(reason(&outcome, "web"), failed("it waits for db; no rerun"));
    assert_eq!(outcome.unsettled["other"].state, ConvergenceState::Unknown);
    assert_eq!(outcome.waves, 1);
}

#[test]
fn data_that_always_differ_are_no_reason_for_ever() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let run = || [unchanged("a")];
    assert_eq!(next(&mut progress, run(), &["a"]), ["a"]);
    assert_eq!(next(&mut progress, run(), &["a"]), ["a"]);
    assert_eq!(next(&mut progress, run(), &["a"]), NOBODY);
    assert_eq!(progress.into_outcome().state, ConvergenceState::Converged);
}

#[test]
fn a_run_that_was_ended_may_request_another_one_once() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let run = || {
        let message = "its time was up".to_owned();
        ending(changed("a", &[], Some(0)), RunEnd::NotRun { message })
    };
    assert_eq!(next(&mut progress, [run()], &NOBODY), ["a"]);
    assert_eq!(next(&mut progress, [run()], &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    let expected = (ConvergenceState::Failed, "its time was up".to_owned());
    assert_eq!(reason(&outcome, "a"), expected);
}

#[test]
fn a_node_that_fails_with_any_data_is_not_tried_for_ever() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let failed = || {
        let message = "no catalog".to_owned();
        let mut run = ending(unchanged("a"), RunEnd::Failed { message });
        run.changes.fingerprint = [7; 32];
        run
    };
    assert_eq!(next(&mut progress, [unchanged("a")], &["a"]), ["a"]);
    assert_eq!(next(&mut progress, [failed()], &["a"]), ["a"]);
    assert_eq!(next(&mut progress, [failed()], &["a"]), NOBODY);
    let outcome = progress.into_outcome();
    let expected = (ConvergenceState::Failed, "no catalog".to_owned());
    assert_eq!(reason(&outcome, "a"), expected);
}

#[test]
fn skipped_nodes_run_when_the_node_runs_again_that_they_wait_for() {
    let mut progress = ConvergenceProgress::new(waves(10));
    let skipped = |node: &str, failed: &str| {
        let (message, failed) = (String::new(), failed.to_owned());
        ending(unchanged(node), RunEnd::Skipped { message, failed })
    };
    let failed = |node: &str, delta| {
        let message = String::new();
        ending(
            changed(node, &["Exec[x]"], delta),
            RunEnd::Failed { message },
        )
    };
    let runs = [
        failed("db1", Some(0)),
        failed("db2", None),
        skipped("web1", "db1"),
        skipped("web2", "db2"),
    ];
    let wave = record(&mut progress, runs, &NOBODY).unwrap();
    assert_eq!(wave.nodes, ["db1", "web1"]);
    let counts = RerunCounts {
        requested: 1,
        skipped: 1,
        ..RerunCounts::default()
    };
    assert_eq!(wave.counts, counts);
    let runs = [unchanged("db1"), unchanged("web1")];
    assert_eq!(next(&mut progress, runs, &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    assert_eq!(
        outcome.unsettled.keys().collect::<Vec<_>>(),
        ["db2", "web2"]
    );
}

#[test]
fn many_unsettled_nodes_are_counted() {
    let mut progress = ConvergenceProgress::new(waves(1));
    let names: Vec<String> = (0..5_000).map(|node| format!("n{node:04}")).collect();
    let runs: Vec<_> = names
        .iter()
        .map(|name| changed(name, &["x"], Some(0)))
        .collect();
    assert_eq!(next(&mut progress, runs, &NOBODY), NOBODY);
    let outcome = progress.into_outcome();
    assert_eq!(
        (outcome.unsettled.len(), outcome.unsettled_count()),
        (1_000, 5_000)
    );
}
