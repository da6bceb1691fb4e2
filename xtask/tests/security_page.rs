//! Test that the tests that `docs/security.md` names as `crate/test` exist, so that a renamed or
//! removed test is noticed there.
#![cfg(test)]

mod named_tests;

use std::fs;

use named_tests::{lines, missing, root};

#[test]
fn every_test_that_the_security_page_names_is_there() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let lines = lines(&page, "A");
    let count: usize = lines.iter().map(|line| line.tests.len()).sum();
    assert!(count > 50, "only {count} tests were read");
    let missing = missing(&lines);
    assert!(missing.is_empty(), "not found: {missing:?}");
}

#[test]
fn every_attack_class_has_a_line() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let numbers: Vec<_> = lines(&page, "A").iter().map(|line| line.number).collect();
    for number in 1..=22 {
        let number = format!("A{number}");
        assert!(numbers.contains(&number.as_str()), "{number}");
    }
}
