//! Tests of the groups of differences.

use serde_json::{Value as Json, json};

use super::{CauseGroups, ChangeGroups, DifferenceCause, DifferenceExample};
use crate::many_nodes::NodeOutcome;

fn catalog(resources: &[(&str, &str, Json)]) -> Json {
    let resources: Vec<Json> = resources
        .iter()
        .map(
            |(ty, title, parameters)| json!({"type": ty, "title": title, "parameters": parameters}),
        )
        .collect();
    let edges: Vec<Json> = resources
        .iter()
        .map(|it| {
            let part = |key: &str| it[key].as_str().unwrap_or_default();
            json!({"source": "Class[A]", "target": format!("{}[{}]", part("type"), part("title"))})
        })
        .collect();
    json!({"resources": resources, "edges": edges})
}

fn outcomes() -> Vec<(&'static str, NodeOutcome)> {
    let motd = |text: &str| ("File", "/etc/motd", json!({"content": text}));
    let issue = |text: &str| ("File", "/etc/issue", json!({"content": text}));
    let package = ("Package", "x", json!({}));
    let error = |text: &str| Err(format!("{text} (line: 1) on node n"));
    let base = Ok(catalog(&[motd("a"), issue("a")]));
    let changed = Ok(catalog(&[motd("b"), issue("a"), package.clone()]));
    let more = Ok(catalog(&[motd("c"), issue("c"), package]));
    vec![
        ("n0", NodeOutcome::of(&base, &base)),
        ("n1", NodeOutcome::of(&base, &changed)),
        ("n2", NodeOutcome::of(&base, &more)),
        ("n3", NodeOutcome::of(&base, &changed)),
        ("n4", NodeOutcome::of(&base, &error("broken"))),
        ("n5", NodeOutcome::of(&error("old"), &base)),
        ("n6", NodeOutcome::of(&error("old"), &error("old"))),
        ("n7", NodeOutcome::of(&error("old"), &error("new"))),
    ]
}

#[test]
fn causes_have_their_number_of_nodes_and_the_first_example() {
    let outcomes = outcomes();
    let mut groups = CauseGroups::default();
    // In any order of completion.
    for (index, (certname, outcome)) in outcomes.iter().enumerate().rev() {
        groups.add(index, certname, outcome);
    }
    assert_eq!((groups.equal, groups.different), (2, 6));
    let sorted = groups.sorted();
    let found: Vec<(DifferenceCause, usize, &str)> = sorted
        .iter()
        .map(|(cause, group)| {
            (
                (*cause).clone(),
                group.nodes,
                group.example.certname.as_str(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                DifferenceCause::FirstFailed("old (line: 1)".into()),
                1,
                "n5"
            ),
            (
                DifferenceCause::SecondFailed("broken (line: 1)".into()),
                1,
                "n4"
            ),
            (
                DifferenceCause::BothFailed("old (line: 1)".into(), "new (line: 1)".into()),
                1,
                "n7"
            ),
            (DifferenceCause::Added("Package".into()), 3, "n1"),
            (
                DifferenceCause::Changed("File".into(), "content".into()),
                3,
                "n1"
            ),
        ]
    );
    let example = DifferenceExample {
        certname: "n1".to_owned(),
        subject: "File[/etc/motd]".to_owned(),
        values: (json!("a"), json!("b")),
    };
    assert_eq!(sorted.last().map(|it| &it.1.example), Some(&example));
}

#[test]
fn nodes_with_the_same_changes_are_one_group() {
    let mut groups = ChangeGroups::default();
    for (index, (certname, outcome)) in outcomes().iter().enumerate().rev() {
        groups.add(index, certname, outcome);
    }
    assert_eq!(groups.equal, 2);
    let found: Vec<(String, String)> = groups
        .sorted()
        .iter()
        .map(|group| (group.nodes.join(" "), group.changes.join("; ")))
        .collect();
    let expected = [
        ("n7", "failed: old (line: 1); fails: new (line: 1)"),
        ("n4", "fails: broken (line: 1)"),
        ("n5", "no longer fails: old (line: 1)"),
        ("n1 n3", "~ File[/etc/motd] content; + Package[x]"),
        (
            "n2",
            "~ File[/etc/issue] content; ~ File[/etc/motd] content; + Package[x]",
        ),
    ];
    let expected = expected.map(|(nodes, changes)| (nodes.to_owned(), changes.to_owned()));
    assert_eq!(found, expected);
}
