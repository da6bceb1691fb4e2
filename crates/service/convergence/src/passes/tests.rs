//! Passes beside the rules for nodes without success.

use jobs::{
    EarlierRun, KIND_DEPENDENCY, KIND_STOPPED, KIND_UNKNOWN, PassLease, PassNode, RunPass,
    RunPasses, WaitingComponent,
};
use serde_json::Value;
use uuid::Uuid;

use super::{MultiPassOutcome, MultiPassState, PassProgress};
use crate::node_run::{NodeRun, RunEnd};
use crate::tests::{changed, ending, unchanged};

/// The run of a node that waits for others in its pass, or that needs what others produced in the first one.
fn run(node: &str, (waits_for, after): (&[&str], &[&str]), left_out: &[&str]) -> PassNode {
    let waiting = |reference: &&str| WaitingComponent {
        reference: (*reference).to_owned(),
        ..WaitingComponent::default()
    };
    let earlier = |node: &&str| EarlierRun {
        node: node.parse().unwrap(),
        pass: 1,
    };
    PassNode {
        node: node.parse().unwrap(),
        waits_for: waits_for.iter().map(|it| it.parse().unwrap()).collect(),
        after: after.iter().map(earlier).collect(),
        products: Vec::new(),
        left_out: left_out.iter().map(waiting).collect(),
    }
}

const LEASE: Uuid = Uuid::from_u128(1);

/// Two nodes that wait for each other, one that waits for the second of them, and one that waits for none.
fn crossed() -> RunPasses {
    let first = vec![
        run("other", (&[], &[]), &[]),
        run("x", (&[], &[]), &["Web[b]"]),
        run("y", (&[], &[]), &["Web[a]"]),
    ];
    let second = vec![
        run("x", (&[], &["y"]), &[]),
        run("y", (&[], &["x"]), &[]),
        run("lb", (&[], &["y"]), &[]),
        run("tail", (&["lb"], &[]), &[]),
    ];
    RunPasses {
        passes: [first, second].map(|nodes| RunPass { nodes }).into(),
        lease: Some(LEASE),
    }
}

fn failed(node: &str) -> NodeRun {
    let message = "File[/a] failed".to_owned();
    ending(unchanged(node), RunEnd::Failed { message })
}

/// The nodes of the next pass; empty if there is none.
fn next(progress: &mut PassProgress) -> Vec<String> {
    let next = progress.next_pass();
    let runs = next.map_or_else(Vec::new, |next| next.pass.nodes);
    runs.iter().map(|run| run.node.to_string()).collect()
}

/// The nodes that do not run any more, with the kind of the error of each.
fn left(progress: &PassProgress) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = progress.results_without_run();
    let ends = results
        .iter()
        .map(|it| (text(&it["target"]), text(&it["value"]["_error"]["kind"])));
    ends.collect()
}

/// State, pass and cause of a node without success.
fn end<'a>(outcome: &'a MultiPassOutcome, node: &str) -> (MultiPassState, u32, Option<&'a str>) {
    let node = &outcome.unsuccessful[node];
    let is_skipped = node.state == MultiPassState::Skipped;
    assert_eq!(node.kind.as_deref(), is_skipped.then_some(KIND_DEPENDENCY));
    (node.state, node.pass, node.failed.as_deref())
}

#[test]
fn a_pass_holds_the_nodes_that_may_run_in_a_later_one() {
    let later = |progress: &mut PassProgress| {
        let PassLease { id, later } = progress.next_pass().unwrap().lease.unwrap();
        assert_eq!(id, LEASE);
        let later = later.iter().map(ToString::to_string);
        later.collect::<Vec<String>>()
    };
    let mut progress = PassProgress::new(crossed());
    assert_eq!(later(&mut progress), ["lb", "tail", "x", "y"]);
    progress.record_pass(
        vec![unchanged("other"), unchanged("x"), unchanged("y")],
        false,
    );
    assert_eq!(later(&mut progress), [""; 0]);

    let mut three = crossed();
    three.passes.push(three.passes[1].clone());
    let mut progress = PassProgress::new(three);
    progress.next_pass();
    progress.record_pass(vec![unchanged("other"), unchanged("x"), failed("y")], false);
    assert_eq!(progress.next_pass(), None, "all others wait for y");
}

#[test]
fn all_passes_run_if_all_nodes_succeed() {
    let mut progress = PassProgress::new(crossed());
    assert_eq!(next(&mut progress), ["other", "x", "y"]);
    let runs = ["other", "x", "y"].map(|it| changed(it, &["File[/a]"], None));
    progress.record_pass(runs.into(), false);
    assert_eq!(next(&mut progress), ["x", "y", "lb", "tail"]);
    progress.record_pass(["x", "y", "lb", "tail"].map(unchanged).into(), false);
    assert_eq!(next(&mut progress), [""; 0]);
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, MultiPassState::Succeeded);
    assert_eq!(outcome.describe(), "all nodes succeeded in 2 passes");
    assert_eq!(outcome.nodes_by_runs, [(1, 3), (2, 2)].into());
}

#[test]
fn nodes_that_depend_on_a_failed_one_are_skipped_and_others_go_on() {
    let mut progress = PassProgress::new(crossed());
    next(&mut progress);
    let runs = vec![unchanged("other"), failed("y"), unchanged("x")];
    progress.record_pass(runs, false);
    assert_eq!(next(&mut progress), [""; 0], "all wait for y");
    let skipped = ["lb", "tail", "x"].map(|it| (it.to_owned(), KIND_DEPENDENCY.to_owned()));
    assert_eq!(left(&progress), skipped, "y has the result of its run");
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, MultiPassState::Failed);
    assert_eq!(end(&outcome, "y"), (MultiPassState::Failed, 1, None));
    for node in ["x", "lb", "tail"] {
        let skipped = (MultiPassState::Skipped, 2, Some("y"));
        assert_eq!(end(&outcome, node), skipped, "{node}");
    }
    let tail = &outcome.unsuccessful["tail"].reason;
    assert_eq!(tail, "it waits for lb, and the run on y did not succeed");
    assert_eq!(
        outcome.describe(),
        "4 of 5 nodes did not succeed in 2 passes"
    );
    assert_eq!(outcome.nodes_by_runs, [(0, 2), (1, 3)].into());

    let mut progress = PassProgress::new(crossed());
    next(&mut progress);
    progress.record_pass(vec![failed("other"), unchanged("x"), unchanged("y")], false);
    assert_eq!(next(&mut progress), ["x", "y", "lb", "tail"]);
}

#[test]
fn a_node_that_its_job_skipped_or_that_has_no_result_runs_in_no_later_pass() {
    let mut progress = PassProgress::new(crossed());
    next(&mut progress);
    let (message, failed) = ("it waits for z".to_owned(), "z".to_owned());
    let skipped = ending(unchanged("x"), RunEnd::Skipped { message, failed });
    progress.record_pass(vec![skipped, unchanged("y")], false);
    assert_eq!(
        left(&progress),
        [("other".to_owned(), KIND_UNKNOWN.to_owned())]
    );
    assert_eq!(next(&mut progress), ["lb", "tail"]);
    progress.record_pass(vec![unchanged("lb"), unchanged("tail")], false);
    assert_eq!(next(&mut progress), [""; 0]);
    let outcome = progress.into_outcome();
    assert_eq!(end(&outcome, "x"), (MultiPassState::Skipped, 1, Some("z")));
    assert_eq!(end(&outcome, "y"), (MultiPassState::Skipped, 2, Some("z")));
    assert_eq!(end(&outcome, "other"), (MultiPassState::NotRun, 1, None));
    assert!(!outcome.unsuccessful.contains_key("lb"), "y ran in pass 1");
}

#[test]
fn after_a_halt_no_pass_runs_and_the_open_nodes_are_named() {
    let mut progress = PassProgress::new(crossed());
    next(&mut progress);
    progress.record_pass(["other", "x", "y"].map(unchanged).into(), true);
    assert_eq!(next(&mut progress), [""; 0]);
    let open = ["lb", "tail", "x", "y"].map(|it| (it.to_owned(), KIND_STOPPED.to_owned()));
    assert_eq!(left(&progress), open, "also those that succeeded in pass 1");
    let outcome = progress.into_outcome();
    assert_eq!(outcome.state, MultiPassState::NotRun);
    assert_eq!(outcome.unsuccessful.len(), 4);
    let reason = &outcome.unsuccessful["tail"].reason;
    assert_eq!(reason, "the job of pass 1 was ended early");
}
