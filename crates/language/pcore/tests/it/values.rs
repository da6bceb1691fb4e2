//! Equality, order and hashes of values.

use std::cmp::Ordering;

use pcore::{Hash, Regexp, SemVer, SemVerRange, Timespan, Value};

use super::value;

#[test]
fn equality_ignores_the_case_of_ascii_letters_only() {
    assert!(value("'aBc'").equals(&value("'AbC'")));
    assert!(!value("'É'").equals(&value("'é'")));
    assert!(value("['A']").equals(&value("['a']")));
    assert!(value("1").equals(&value("1.0")));
    assert!(!value("'1'").equals(&value("1")));
    assert!(!value("undef").equals(&value("''")));
    assert!(
        !value("{'A' => 1}").equals(&value("{'a' => 1}")),
        "keys keep their case"
    );
    assert!(Value::Timespan(Timespan::from_nanos(1_000_000_000).unwrap()).equals(&Value::Int(1)));
}

#[test]
fn keys_are_ruby_eql() {
    let mut hash = Hash::new();
    hash.insert(1, "int");
    hash.insert(1.0, "float");
    hash.insert("a", "small");
    hash.insert("A", "large");
    hash.insert(Value::Undef, "undef");
    assert_eq!(hash.len(), 5);
    assert_eq!(hash.get_str("a"), Some(&Value::from("small")));
    assert_eq!(hash.get(&Value::Float(1.0)), Some(&Value::from("float")));
    hash.insert(1, "again");
    assert_eq!(
        hash.get_index(0),
        Some((&Value::Int(1), &Value::from("again"))),
        "keeps its place"
    );
    hash.remove(&Value::Float(1.0));
    let keys: Vec<String> = hash.keys().map(Value::to_program_string).collect();
    assert_eq!(keys, ["1", "'a'", "'A'", "undef"]);
}

#[test]
fn only_numbers_texts_times_and_versions_have_an_order() {
    let order = |a: &str, b: &str| value(a).compare(&value(b));
    assert_eq!(order("'a'", "'B'"), Ok(Some(Ordering::Less)));
    assert_eq!(
        order("9223372036854775807", "9223372036854775807.0"),
        Ok(Some(Ordering::Less))
    );
    assert_eq!(order("2", "1.5"), Ok(Some(Ordering::Greater)));
    assert_eq!(
        order("'a'", "1").unwrap_err().to_string(),
        "A String is not comparable to a non String"
    );
    assert_eq!(
        order("[]", "[]").unwrap_err().to_string(),
        "Only Strings, Numbers, Timespans, Timestamps, and Versions are comparable"
    );
}

#[test]
fn versions_order_as_semver_says() {
    let ordered = [
        "1.0.0-1",
        "1.0.0-a",
        "1.0.0-a.1",
        "1.0.0-b",
        "1.0.0",
        "1.0.1",
        "1.10.0",
        "2.0.0",
    ];
    let versions: Vec<SemVer> = ordered
        .iter()
        .map(|text| SemVer::parse(text).unwrap())
        .collect();
    for pair in versions.windows(2) {
        assert!(
            pair[0].compare(&pair[1]).is_lt(),
            "{} before {}",
            pair[0],
            pair[1]
        );
    }
    let range = SemVerRange::parse(">=1.0.0-b <1.10.0").unwrap();
    let within: Vec<bool> = versions
        .iter()
        .map(|version| range.includes(version))
        .collect();
    assert_eq!(
        within,
        [false, false, false, true, true, true, false, false]
    );
}

#[test]
fn a_regexp_that_is_none_matches_nothing() {
    assert!(Regexp::compile("[").is_err());
    assert!(!Regexp::new("[").is_match("["));
    assert!(Regexp::new("^b").is_match("a\nb"), "lines have anchors");
}
