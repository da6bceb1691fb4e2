//! Orders of nodes, and of runs beside an executor that knows only the edges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pcp::Certname;
use proptest::prelude::*;

use super::*;
use crate::state::RunState;

fn node(name: &str) -> Certname {
    format!("{name}.example.com").parse().unwrap()
}

fn production() -> EnvironmentName {
    "production".parse().unwrap()
}

fn nodes(names: &[&str]) -> Vec<Certname> {
    names.iter().map(|name| node(name)).collect()
}

/// Components as `(node, produces, consumes)`, in one application.
fn applications(components: &[(&str, &[&str], &[&str])]) -> EnvironmentApplications {
    let owned = |names: &[&str]| names.iter().map(|it| format!("Sql[{it}]")).collect();
    let components = components.iter().enumerate();
    let components = components.map(|(index, (on, produces, consumes))| ApplicationComponent {
        reference: format!("Part[{index}]"),
        node: node(on),
        produces: owned(produces),
        consumes: owned(consumes),
    });
    EnvironmentApplications {
        instances: vec![ApplicationInstance {
            reference: "App[one]".to_owned(),
            components: components.collect(),
        }],
    }
}

fn ordered(order: &NodeOrder) -> Vec<&str> {
    let names = order.nodes().iter();
    names
        .map(|it| it.as_str().split('.').next().unwrap())
        .collect()
}

#[test]
fn producers_come_first_and_other_nodes_keep_their_order() {
    let lamp = applications(&[
        ("web2", &[], &["db"]),
        ("db", &["db"], &[]),
        ("web1", &["web1"], &["db"]),
        ("lb", &[], &["web1", "db"]),
    ]);
    let given = nodes(&["lb", "other", "web2", "web1", "db"]);
    let order = NodeOrder::new(&lamp, given).unwrap();
    assert_eq!(ordered(&order), ["other", "db", "web2", "web1", "lb"]);
    assert_eq!(order.levels(), [0, 0, 1, 1, 2]);
    let stored = order.to_stored(&production()).unwrap();
    assert_eq!(stored.nodes, nodes(&["db", "web2", "web1", "lb"]));
    assert_eq!(stored.edges, [[0, 1], [0, 2], [0, 3], [2, 3]]);
    let products: Vec<_> = stored.products.values().flatten().collect();
    assert_eq!(products, ["Sql[db]", "Sql[web1]"]);
}

#[test]
fn nodes_that_are_not_in_the_job_are_not_waited_for() {
    let lamp = applications(&[("db", &["db"], &[]), ("web", &[], &["db"])]);
    let order = NodeOrder::new(&lamp, nodes(&["web", "x"])).unwrap();
    assert_eq!(ordered(&order), ["web", "x"]);
    assert_eq!(order.to_stored(&production()), None);
}

#[test]
fn a_node_does_not_wait_for_itself() {
    let all_in_one = applications(&[("a", &["db"], &[]), ("a", &[], &["db"])]);
    let order = NodeOrder::new(&all_in_one, nodes(&["a"])).unwrap();
    assert_eq!(order.levels(), [0]);
}

#[test]
fn nodes_that_wait_for_each_other_are_named_in_the_order_of_the_capabilities() {
    let crossed = applications(&[
        ("x", &["a"], &["b"]),
        ("y", &["b"], &["a"]),
        ("z", &[], &["b"]),
    ]);
    let error = NodeOrder::new(&crossed, nodes(&["z", "x", "y"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nodes wait for each other, so no run order exists: y.example.com (Sql[b]) -> x.example.com (Sql[a]) -> \
         y.example.com; run them in passes with --multi-pass (command/multi_pass in the API), or map the components to \
         other nodes"
    );
}

#[test]
fn a_cycle_of_fifty_nodes_is_named_whole_and_a_longer_one_is_cut() {
    for (length, more) in [(50, false), (5_000, true)] {
        let names: Vec<String> = (0..length).map(|it| format!("n{it}")).collect();
        let component = |index: usize| ApplicationComponent {
            reference: format!("Part[{index}]"),
            node: node(&names[index]),
            produces: vec![format!("Sql[{index}]")],
            consumes: vec![format!("Sql[{}]", (index + 1) % length)],
        };
        let ring = EnvironmentApplications {
            instances: vec![ApplicationInstance {
                reference: "App[one]".to_owned(),
                components: (0..length).map(component).collect(),
            }],
        };
        let all = names.iter().map(|name| node(name)).collect();
        let error = NodeOrder::new(&ring, all).unwrap_err();
        assert_eq!(error.path.len(), length);
        assert_eq!(error.to_string().contains("more"), more);
    }
}

/// The runs on these nodes under an order, with none that ended before.
fn run_order(order: &NodeOrder) -> RunOrder {
    let stored = order.to_stored(&production()).unwrap_or_default();
    let (runs, blocked) = RunOrder::restore(&stored, order.nodes().iter(), &HashMap::new());
    assert!(blocked.is_empty());
    runs
}

#[test]
fn a_failed_run_blocks_all_that_depend_on_it_and_no_other() {
    let chain = applications(&[
        ("a", &["a"], &[]),
        ("b", &["b"], &["a"]),
        ("c", &[], &["b"]),
        ("d", &["d"], &[]),
        ("e", &[], &["d", "a"]),
        ("f", &[], &["d"]),
    ]);
    let order = NodeOrder::new(&chain, nodes(&["a", "b", "c", "d", "e", "f"])).unwrap();
    assert_eq!(ordered(&order), ["a", "b", "c", "d", "e", "f"]);
    let mut runs = run_order(&order);
    assert!(runs.is_waiting(0), "for the leases");
    assert!(runs.record_leases().is_empty());
    assert!(!runs.is_waiting(0));
    for index in [1, 2, 4, 5] {
        assert!(runs.is_waiting(index));
        runs.hold(index);
    }
    let blocked = runs.record_failure(0);
    let blocked: Vec<_> = blocked.iter().map(|it| (it.index, it.waits_for)).collect();
    assert_eq!(blocked, [(1, 0), (4, 0), (2, 1)]);
    assert!(
        runs.record_failure(1).is_empty(),
        "its dependents have ended"
    );
    assert_eq!(runs.record_success(3), [5]);
    assert!(runs.take_held().is_empty());
}

#[test]
fn after_a_restart_a_run_waits_only_for_those_that_are_not_over() {
    let chain = applications(&[
        ("a", &["a"], &[]),
        ("b", &["b"], &[]),
        ("c", &["c"], &["a", "b"]),
        ("d", &[], &["c"]),
    ]);
    let order = NodeOrder::new(&chain, nodes(&["a", "b", "c", "d"])).unwrap();
    let stored = order.to_stored(&production()).unwrap();
    let text = serde_json::to_string(&stored).unwrap();
    let mut stored: StoredNodeOrder = serde_json::from_str(&text).unwrap();
    // as in a job of an older server
    stored.lease = None;
    let open = nodes(&["b", "c", "d"]);
    let (mut runs, blocked) = RunOrder::restore(&stored, open.iter(), &HashMap::new());
    assert!(blocked.is_empty());
    assert_eq!(
        runs.products(0),
        Some((&production(), &["Sql[b]".to_owned()][..]))
    );
    runs.hold(1);
    assert_eq!(runs.record_success(0), [1]);
    let failed = HashMap::from([(node("a"), RunState::Failed)]);
    let (mut runs, blocked) = RunOrder::restore(&stored, open.iter(), &failed);
    let by_a = |waits_for: &str| BlockingNodes {
        waits_for: node(waits_for),
        failed: node("a"),
    };
    assert_eq!(blocked, BTreeMap::from([(1, by_a("a"))]));
    let dependents = runs.record_failure(1);
    assert_eq!(
        dependents,
        [BlockedRun {
            index: 2,
            waits_for: 1
        }]
    );
}

/// A random graph, and a run through it.
#[derive(Clone, Debug)]
struct RandomRun {
    /// From a lower number to a higher one, so there is no cycle.
    edges: BTreeSet<(usize, usize)>,
    /// The numbers of the nodes in the order in which the job names them.
    given: Vec<usize>,
    succeeds: Vec<bool>,
    /// Number of steps after which the leases are taken.
    leases_after: u32,
    seed: u64,
}

prop_compose! {
    fn random_run()(count in 1_usize..12)(
        edges in prop::collection::vec((0..count, 0..count), 0..20),
        given in Just((0..count).collect::<Vec<_>>()).prop_shuffle(),
        succeeds in prop::collection::vec(prop::bool::weighted(0.8), count),
        leases_after in 0_u32..4,
        seed in any::<u64>(),
    ) -> RandomRun {
        let edges = edges.into_iter().filter(|(a, b)| a != b);
        let edges = edges.map(|(a, b)| (a.min(b), a.max(b))).collect();
        RandomRun { edges, given, succeeds, leases_after, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(2_000)
    ))]

    /// Each run starts when the last of those that it waits for has succeeded, and never otherwise.
    #[test]
    fn runs_start_as_in_an_executor_that_knows_only_the_edges(run in random_run()) {
        let RandomRun { edges, given, succeeds, leases_after, seed } = run;
        let count = given.len();
        let component = |index: usize| ApplicationComponent {
            reference: format!("Part[{index}]"),
            node: node(&format!("n{index}")),
            produces: vec![format!("Sql[{index}]")],
            consumes: edges.iter().filter(|(_, then)| *then == index)
                .map(|(first, _)| format!("Sql[{first}]")).collect(),
        };
        let graph = EnvironmentApplications {
            instances: vec![ApplicationInstance {
                reference: "App[one]".to_owned(),
                components: (0..count).map(component).collect(),
            }],
        };
        let named: Vec<Certname> = given.iter().map(|index| node(&format!("n{index}"))).collect();
        let order = NodeOrder::new(&graph, named).unwrap();
        let number = |place: usize| -> usize {
            ordered(&order)[place][1..].parse().unwrap()
        };
        let numbers: Vec<usize> = (0..count).map(number).collect();
        let mut runs = run_order(&order);
        let mut ready: Vec<usize> = Vec::new();
        for place in 0..count {
            match runs.is_waiting(place) {
                true => runs.hold(place),
                false => ready.push(place),
            }
        }
        let mut ended = vec![None; count];
        let (mut random, mut steps) = (seed, 0);
        let mut has_leases = false;
        while !ready.is_empty() || !has_leases {
            if !has_leases && (steps >= leases_after || ready.is_empty()) {
                has_leases = true;
                ready.extend(runs.record_leases());
                continue;
            }
            steps += 1;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = ready.swap_remove(usize::try_from(random >> 33).unwrap() % ready.len());
            let run = numbers[place];
            let is_ordered = edges.iter().any(|(first, then)| [*first, *then].contains(&run));
            prop_assert!(has_leases || !is_ordered, "{} starts without a lease", run);
            for (first, _) in edges.iter().filter(|(_, then)| *then == run) {
                prop_assert_eq!(ended[*first], Some(true), "{} starts before {}", run, first);
            }
            prop_assert_eq!(ended[run].replace(succeeds[run]), None, "a second start");
            if succeeds[run] {
                ready.extend(runs.record_success(place));
            } else {
                for blocked in runs.record_failure(place) {
                    let index = numbers[blocked.index];
                    prop_assert_eq!(ended[index].replace(false), None);
                    let waits_for = numbers[blocked.waits_for];
                    prop_assert!(edges.contains(&(waits_for, index)));
                    prop_assert_eq!(ended[waits_for], Some(false));
                }
            }
        }
        for (run, end) in ended.iter().enumerate() {
            let waited = edges.iter().filter(|(_, then)| *then == run);
            let all = waited.map(|(first, _)| ended[*first]).all(|it| it == Some(true));
            prop_assert_eq!(*end, Some(all && succeeds[run]), "{}", run);
        }
        prop_assert!(runs.take_held().is_empty());
    }
}
