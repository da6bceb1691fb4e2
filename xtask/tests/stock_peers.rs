//! `docs/stock-peers.md` lists behaviours of the stock agent and the stock broker by number, each
//! with our tests of it or the reason for having none. A missing number or test fails here.
#![cfg(test)]

mod named_tests;

use std::fs;

use named_tests::{Line, lines, missing, root, sources_of};

/// The number of observed behaviours: of agents, of brokers towards their clients, and towards
/// controllers.
const BEHAVIOURS: [(&str, usize); 3] = [("A", 79), ("B", 48), ("K", 12)];

fn page() -> String {
    fs::read_to_string(root().join("docs/stock-peers.md")).unwrap()
}

#[test]
fn every_behaviour_has_its_line_in_the_order_of_the_numbers() {
    let page = page();
    for (letter, count) in BEHAVIOURS {
        let expected: Vec<String> = (1..=count).map(|n| format!("{letter}{n}")).collect();
        let lines = lines(&page, letter);
        let numbers: Vec<&str> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, expected);
    }
}

#[test]
fn every_behaviour_has_a_test_or_a_reason() {
    let page = page();
    let has_reason = |line: &Line<'_>| {
        let start = format!("| {} |", line.number);
        let text = page.lines().find(|text| text.starts_with(&start)).unwrap();
        text.contains("| none: ")
    };
    let lines = lines(&page, "ABK");
    let without: Vec<_> = lines
        .iter()
        .filter(|line| line.tests.is_empty() && !has_reason(line))
        .map(|line| line.number)
        .collect();
    assert!(without.is_empty(), "neither test nor reason: {without:?}");
}

#[test]
fn every_test_of_a_behaviour_is_there() {
    let page = page();
    let missing = missing(&lines(&page, "ABK"));
    assert!(missing.is_empty(), "not found: {missing:?}");
}

/// True if the name of a test begins with a number, as in `b06_to_b09_the_default_type_is_agent`.
fn numbered(test: &str) -> bool {
    let digits = test.get(1..3).unwrap_or_default();
    test.starts_with(['b', 'k'])
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.len() == 2
        && test.get(3..4) == Some("_")
}

#[test]
fn every_numbered_test_of_the_broker_is_on_the_page() {
    let page = page();
    let sources = sources_of(&root(), "broker");
    let tests = sources.split("fn ").skip(1);
    let tests: Vec<&str> = tests
        .filter_map(|rest| rest.split_once('(').map(|(name, _)| name))
        .filter(|name| numbered(name))
        .collect();
    assert!(!tests.is_empty());
    let unlisted: Vec<_> = tests
        .iter()
        .filter(|test| !page.contains(&format!("`broker/{test}`")))
        .collect();
    assert!(unlisted.is_empty(), "not on the page: {unlisted:?}");
}

#[test]
fn only_numbered_lines_of_tables_are_read() {
    let page = "| A1 | x | `agent/one`, `two` |\nA2 `agent/three`\n| B3 | y | `agent/four` |\n| Ax | `agent/five` |";
    let read: Vec<_> = lines(page, "A")
        .into_iter()
        .map(|it| (it.number, it.tests))
        .collect();
    assert_eq!(read, [("A1", vec![("agent", "one")])]);
    let gone = lines(
        "| A1 | x | `xtask/no_such_test`, `nowhere/only_numbered_lines` |",
        "A",
    );
    assert_eq!(
        missing(&gone),
        ["xtask/no_such_test", "nowhere/only_numbered_lines"]
    );
}
