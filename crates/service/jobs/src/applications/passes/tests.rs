//! Passes of nodes beside the rules that they keep.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pcp::Certname;
use proptest::prelude::*;

use super::*;
use crate::applications::{ApplicationComponent, ApplicationInstance};

fn node(name: &str) -> Certname {
    format!("{name}.example.com").parse().unwrap()
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

/// Each pass as text: `node<waits_for^after>products-left_out`.
fn shown(passes: &RunPasses) -> Vec<String> {
    let short = |name: &Certname| name.as_str().split('.').next().unwrap().to_owned();
    let run = |run: &PassNode| {
        let waits: Vec<String> = run.waits_for.iter().map(short).collect();
        let references: Vec<&str> = run.left_out.iter().map(|it| &*it.reference).collect();
        let list = |sign: &str, names: String| match names.is_empty() {
            true => String::new(),
            false => format!("{sign}{names}"),
        };
        let after = run.after.iter();
        let after = after.map(|EarlierRun { node, pass }| format!("^{}:{pass}", short(node)));
        [
            short(&run.node),
            list("<", waits.join(",")),
            after.collect(),
            list(">", run.products.join(",")),
            list("-", references.join(",")),
        ]
        .concat()
    };
    let passes = passes.passes.iter();
    passes
        .map(|pass| pass.nodes.iter().map(run).collect::<Vec<_>>().join(" "))
        .collect()
}

fn plan(graph: &EnvironmentApplications, names: &[&str]) -> Vec<String> {
    shown(&RunPasses::new(graph, &nodes(names)).unwrap())
}

#[test]
fn nodes_that_wait_for_each_other_run_twice_and_all_others_once() {
    let crossed = applications(&[
        ("x", &["a"], &["z"]),
        ("x", &[], &["b"]),
        ("y", &["b"], &[]),
        ("y", &[], &["a"]),
        ("z", &["z"], &[]),
        ("lb", &[], &["b"]),
    ]);
    assert_eq!(
        plan(&crossed, &["lb", "other", "x", "y", "z"]),
        [
            "other z>Sql[z] x<z>Sql[a]-Part[1] y>Sql[b]-Part[3]",
            "lb^y:1 x^y:1 y^x:1",
        ]
    );
}

#[test]
fn nodes_without_a_cycle_have_one_pass_in_their_order() {
    let chain = applications(&[
        ("c", &[], &["b"]),
        ("b", &["b"], &["a"]),
        ("a", &["a"], &[]),
    ]);
    assert_eq!(plan(&chain, &["c", "b", "a"]), ["a>Sql[a] b<a>Sql[b] c<b"]);
    assert_eq!(plan(&chain, &["c", "a"]), ["c a"], "b is not in the job");
    assert_eq!(plan(&chain, &[]), [""; 0]);
}

#[test]
fn a_chain_over_two_nodes_alternates_and_components_of_one_node_need_no_pass() {
    let chain = applications(&[
        ("x", &["1"], &[]),
        ("x", &["2"], &["1"]),
        ("y", &["3"], &["2"]),
        ("x", &["4"], &["3"]),
        ("y", &[], &["4"]),
    ]);
    assert_eq!(
        plan(&chain, &["x", "y"]),
        [
            "x>Sql[2]-Part[3]",
            "y^x:1>Sql[3]-Part[4]",
            "x^y:2>Sql[4] y<x"
        ]
    );
}

#[test]
fn a_group_that_waits_for_another_one_runs_only_after_it() {
    let groups = applications(&[
        ("x", &["a"], &[]),
        ("x", &[], &["b"]),
        ("y", &["b"], &[]),
        ("y", &["c"], &["a"]),
        ("p", &["d"], &[]),
        ("p", &[], &["e", "c"]),
        ("q", &["e"], &["c"]),
        ("q", &[], &["d"]),
    ]);
    // q gets d from p only if p runs before it
    assert_eq!(
        plan(&groups, &["p", "q", "x", "y"]),
        [
            "x>Sql[a]-Part[1] y>Sql[b]-Part[3]",
            "x^y:1 y^x:1>Sql[c] p>Sql[d]-Part[5] q<y>Sql[e]-Part[7]",
            "p^q:2^y:2 q^p:2",
        ]
    );
}

#[test]
fn components_that_wait_for_each_other_are_refused_with_their_path() {
    let cycle = applications(&[
        ("x", &["first"], &[]),
        ("x", &["a"], &["b"]),
        ("y", &["b"], &["a", "first"]),
        ("z", &[], &["b"]),
    ]);
    let error = RunPasses::new(&cycle, &nodes(&["x", "y", "z"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "components wait for each other, so no pass can have them: x.example.com (Sql[a]) -> y.example.com (Sql[b]) \
         -> x.example.com; change what they consume"
    );
}

/// A chain of components, each on the other one of two nodes.
fn alternating(count: usize) -> EnvironmentApplications {
    let names: Vec<String> = (0..=count).map(|it| it.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let links: Vec<([&str; 1], [&str; 1])> = (0..count)
        .map(|index| ([names[index + 1]], [names[index]]))
        .collect();
    let components = links
        .iter()
        .enumerate()
        .map(|(index, (produces, consumes))| {
            let on = if index % 2 == 0 { "x" } else { "y" };
            (on, &produces[..], &consumes[..])
        });
    applications(&components.collect::<Vec<_>>())
}

#[test]
fn the_number_of_passes_is_bounded() {
    let names = nodes(&["x", "y"]);
    let most = RunPasses::new(&alternating(PASSES_MAX + 1), &names).unwrap();
    assert_eq!(most.passes.len(), PASSES_MAX);
    let error = RunPasses::new(&alternating(PASSES_MAX + 2), &names).unwrap_err();
    assert_eq!(error, InvalidPasses::TooMany);
}

#[test]
fn ten_thousand_components_are_planned_at_once() {
    let cells: Vec<String> = (0..2_500).map(|it| it.to_string()).collect();
    let titles: Vec<[String; 4]> = cells
        .iter()
        .map(|it| {
            [
                format!("x{it}"),
                format!("y{it}"),
                format!("a{it}"),
                format!("b{it}"),
            ]
        })
        .collect();
    let links: Vec<[[&str; 1]; 2]> = titles
        .iter()
        .map(|[_, _, a, b]| [[a.as_str()], [b.as_str()]])
        .collect();
    let mut components: Vec<(&str, &[&str], &[&str])> = Vec::new();
    for ([x, y, _, _], [a, b]) in titles.iter().zip(&links) {
        components.extend([
            (x.as_str(), &a[..], &[][..]),
            (x.as_str(), &[][..], &b[..]),
            (y.as_str(), &b[..], &[][..]),
            (y.as_str(), &[][..], &a[..]),
        ]);
    }
    let names: Vec<&str> = titles
        .iter()
        .flat_map(|[x, y, _, _]| [x.as_str(), y])
        .collect();
    let (graph, names) = (applications(&components), nodes(&names));
    let since = Instant::now();
    let passes = RunPasses::new(&graph, &names).unwrap();
    assert!(
        since.elapsed() < Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    let sizes: Vec<usize> = passes.passes.iter().map(|it| it.nodes.len()).collect();
    assert_eq!(sizes, [5_000, 5_000]);
}

/// Random components on some nodes, each consuming from earlier ones, and the nodes that are in the job.
#[derive(Clone, Debug)]
struct RandomSite {
    node_of: Vec<usize>,
    edges: BTreeSet<(usize, usize)>,
    in_job: Vec<usize>,
}

prop_compose! {
    fn random_site()(count in 1_usize..14, width in 1_usize..6)(
        node_of in prop::collection::vec(0..width, count),
        edges in prop::collection::vec((0..count, 0..count), 0..24),
        in_job in Just((0..width).collect::<Vec<_>>()).prop_shuffle(),
        left_away in 0_usize..2,
    ) -> RandomSite {
        let edges = edges.into_iter().filter(|(a, b)| a != b);
        let edges = edges.map(|(a, b)| (a.min(b), a.max(b))).collect();
        let kept = in_job.len().saturating_sub(left_away).max(1);
        RandomSite { node_of, edges, in_job: in_job[..kept].to_vec() }
    }
}

impl RandomSite {
    fn graph(&self) -> EnvironmentApplications {
        let component = |index: usize| ApplicationComponent {
            reference: format!("Part[{index}]"),
            node: node(&format!("n{}", self.node_of[index])),
            produces: vec![format!("Sql[{index}]")],
            consumes: self
                .edges
                .iter()
                .filter(|(_, then)| *then == index)
                .map(|(first, _)| format!("Sql[{first}]"))
                .collect(),
        };
        EnvironmentApplications {
            instances: vec![ApplicationInstance {
                reference: "App[one]".to_owned(),
                components: (0..self.node_of.len()).map(component).collect(),
            }],
        }
    }

    /// The nodes of the job that wait for themselves through other nodes.
    fn cyclic_nodes(&self) -> BTreeSet<usize> {
        let waits = |first: usize| {
            let edges = self.edges.iter();
            let nodes = edges.map(|(a, b)| (self.node_of[*a], self.node_of[*b]));
            nodes
                .filter(move |(a, b)| a != b && *a == first && self.in_job.contains(b))
                .map(|(_, b)| b)
        };
        let is_cyclic = |start: &usize| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![*start]);
            while let Some(node) = open.pop() {
                open.extend(waits(node).filter(|then| seen.insert(*then)));
            }
            seen.contains(start)
        };
        let nodes = self.in_job.iter().copied();
        nodes.filter(is_cyclic).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(2_000)
    ))]

    #[test]
    fn components_run_after_their_producers_and_nodes_only_as_often_as_cycles_need(site in random_site()) {
        let names: Vec<Certname> = site.in_job.iter().map(|it| node(&format!("n{it}"))).collect();
        let passes = RunPasses::new(&site.graph(), &names).unwrap();
        let index_of = |name: &Certname| -> usize { name.as_str()[1..].split('.').next().unwrap().parse().unwrap() };
        // each component with the position of the first run that has it
        let mut first_run: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut runs: BTreeMap<usize, usize> = BTreeMap::new();
        let mut is_complete: BTreeMap<usize, bool> = BTreeMap::new();
        for (pass, planned) in passes.passes.iter().enumerate() {
            prop_assert!(!planned.nodes.is_empty());
            let mut in_pass = BTreeSet::new();
            for (place, run) in planned.nodes.iter().enumerate() {
                let on = index_of(&run.node);
                prop_assert!(in_pass.insert(on), "a node once in a pass");
                *runs.entry(on).or_default() += 1;
                prop_assert_eq!(is_complete.insert(on, run.left_out.is_empty()), (runs[&on] > 1).then_some(false));
                let (mut producers, mut products) = (BTreeMap::new(), BTreeSet::new());
                for component in (0..site.node_of.len()).filter(|it| site.node_of[*it] == on) {
                    let reference = format!("Part[{component}]");
                    let waiting = run.left_out.iter().find(|it| it.reference == reference);
                    let is_left_out = waiting.is_some();
                    if let Some(waiting) = waiting {
                        let needed = site.edges.iter().filter(|(_, then)| *then == component).map(|(first, _)| *first);
                        let (own, foreign): (Vec<_>, Vec<_>) = needed.partition(|first| site.node_of[*first] == on);
                        let foreign = foreign.into_iter().filter(|first| site.in_job.contains(&site.node_of[*first]));
                        let foreign = foreign.map(|first| NodeProduct {
                            node: node(&format!("n{}", site.node_of[first])),
                            capability: format!("Sql[{first}]"),
                        });
                        prop_assert_eq!(&waiting.needs, &foreign.collect::<Vec<_>>());
                        let behind = own.into_iter().map(|first| format!("Part[{first}]"));
                        let behind = behind.filter(|it| run.left_out.iter().any(|other| other.reference == *it));
                        prop_assert_eq!(&waiting.behind, &behind.collect::<Vec<_>>());
                        prop_assert!(!waiting.needs.is_empty() || !waiting.behind.is_empty());
                    }
                    if is_left_out || first_run.contains_key(&component) {
                        prop_assert!(!is_left_out || !first_run.contains_key(&component), "left out again");
                        continue;
                    }
                    first_run.insert(component, (pass, place));
                    for (producer, consumer) in &site.edges {
                        let (from, to) = (site.node_of[*producer], site.node_of[*consumer]);
                        if *consumer == component && from != on && site.in_job.contains(&from) {
                            let last = producers.entry(from).or_insert(0);
                            *last = (*last).max(first_run[producer].0);
                        }
                        if *producer == component && to != on && site.in_job.contains(&to) {
                            products.insert(format!("Sql[{producer}]"));
                        }
                    }
                }
                let now = run.waits_for.iter().map(|it| (index_of(it), pass));
                let earlier = run.after.iter().map(|it| (index_of(&it.node), it.pass - 1));
                prop_assert_eq!(now.chain(earlier).collect::<BTreeMap<_, _>>(), producers);
                prop_assert!(run.after.iter().all(|it| it.pass <= pass));
                prop_assert_eq!(&run.products.iter().cloned().collect::<BTreeSet<_>>(), &products);
                prop_assert!(is_complete[&on] || !products.is_empty(), "a partial run produces something");
            }
        }
        for (producer, consumer) in &site.edges {
            let (from, to) = (site.node_of[*producer], site.node_of[*consumer]);
            if from != to && [from, to].iter().all(|it| site.in_job.contains(it)) {
                prop_assert!(first_run[producer] < first_run[consumer], "{} before {}", producer, consumer);
            }
        }
        let cyclic = site.cyclic_nodes();
        for on in &site.in_job {
            prop_assert_eq!(is_complete.get(on), Some(&true));
            prop_assert!(cyclic.contains(on) || runs[on] == 1, "{} runs {} times", on, runs[on]);
        }
        prop_assert!(passes.passes.len() <= site.node_of.len() + 1);
        if cyclic.is_empty() {
            prop_assert_eq!(passes.passes.len(), 1);
        }
    }
}
