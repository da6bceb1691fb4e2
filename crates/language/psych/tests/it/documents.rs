//! Mappings, merges, aliases and the text between documents.

use psych::{YamlKey, YamlLoadOptions, YamlTreeNode, YamlValue, load};

fn hiera(text: &str) -> YamlTreeNode {
    load(text, YamlLoadOptions::HIERA).unwrap().root.unwrap()
}

/// The entries of a mapping of integers, in order.
fn integers(node: &YamlTreeNode) -> Vec<(&str, i64)> {
    let entries = node.as_mapping().unwrap().iter();
    entries
        .map(|(key, value)| match value.value {
            YamlValue::Integer(number) => (key.as_str().unwrap(), number),
            _ => panic!("{value:?}"),
        })
        .collect()
}

#[test]
fn the_last_of_equal_keys_stands_and_is_warned_of() {
    let document = load("a: 1\nb: 2\n\n'a': 3\n", YamlLoadOptions::HIERA).unwrap();
    assert_eq!(integers(&document.root.unwrap()), [("a", 3), ("b", 2)]);
    let warning = &document.warnings[0];
    assert_eq!(
        (
            warning.key.as_str(),
            warning.first_line,
            warning.line,
            warning.column
        ),
        ("a", 1, 4, 1)
    );
}

#[test]
fn merges_override_what_is_before_them() {
    let root = hiera("x: &x {a: 1, b: 2}\ny:\n  b: 0\n  <<: *x\n  a: 9\n  c: 3\n");
    assert_eq!(
        integers(root.get("y").unwrap()),
        [("b", 2), ("a", 9), ("c", 3)]
    );
    let root = hiera("<<: [{a: 1, b: 1}, {b: 2, c: 2}]\n");
    assert_eq!(integers(&root), [("b", 1), ("c", 2), ("a", 1)]);
    assert_eq!(integers(&hiera("<<: 1")), [("<<", 1)]);
    let document = load("<<: {a: 1}\na: 2\n<<: {b: 1}\n", YamlLoadOptions::HIERA).unwrap();
    assert_eq!(document.warnings, []);
}

#[test]
fn aliases_are_shared_or_refused() {
    let root = hiera("a: &x [1, 2]\nb: *x\n");
    let (a, b) = (root.get("a").unwrap(), root.get("b").unwrap());
    assert_eq!(a, b);
    assert_eq!(b.line, 2);
    let refused = load("a: &x 1\nb: *x\n", YamlLoadOptions::PLAN).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("aliases are not allowed here")
    );
    let refused = load("--- &x\na: *x\n", YamlLoadOptions::HIERA).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("the alias refers to what it is a part of")
    );
    assert!(load("a: *x\n", YamlLoadOptions::HIERA).is_err());
}

#[test]
fn keys_are_found_by_their_text_alone() {
    let root = hiera("1: a\n'1': b\n1.0: c\n:k: d\n");
    assert_eq!(root.get("1").unwrap().as_str(), Some("b"));
    let mapping = root.as_mapping().unwrap();
    assert_eq!(mapping.len(), 4);
    assert!(mapping.contains_key(&YamlKey("1")) && !mapping.contains_key(&YamlKey("k")));
}

#[test]
fn only_the_first_document_counts() {
    assert_eq!(integers(&hiera("a: 1\n---\nb: [\n")), [("a", 1)]);
    for empty in ["", "# comment\n", "\u{feff}"] {
        assert!(load(empty, YamlLoadOptions::HIERA).unwrap().root.is_none());
    }
}

#[test]
fn blanks_that_only_psych_takes() {
    let root = hiera("a:\tx\nb: \"one\ntwo\"\nc: 'it''s\n\nso'\n");
    assert_eq!(root.get("a").unwrap().as_str(), Some("x"));
    assert_eq!(root.get("b").unwrap().as_str(), Some("one two"));
    assert_eq!(root.get("c").unwrap().as_str(), Some("it's\nso"));
    assert_eq!(hiera("|\n a\n b").as_str(), Some("a\nb"));
}

#[test]
fn mistakes_name_their_place() {
    let error = load("a: 1\nb: [1, 2\nc: 3\n", YamlLoadOptions::HIERA).unwrap_err();
    assert!(error.to_string().contains("at line 3 column"), "{error}");
}
