//! Documents that must not exhaust memory, stack or time.

use std::fmt::Write as _;

use psych::defaults::{MAX_BYTES, MAX_DEPTH, MAX_NODES};
use psych::{Error, YamlLoadOptions, load};

fn refused(text: &str) -> Error {
    load(text, YamlLoadOptions::HIERA).unwrap_err()
}

#[test]
fn depth() {
    let deep = MAX_DEPTH;
    assert!(
        load(
            &("[".repeat(deep) + &"]".repeat(deep)),
            YamlLoadOptions::HIERA
        )
        .is_ok()
    );
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..3000).map(|level| " ".repeat(level) + "a:\n").collect(),
    ] {
        let error = refused(&text);
        assert!(
            matches!(error, Error::Depth { .. }),
            "{:.40}: {error}",
            text
        );
    }
}

#[test]
fn aliases_that_stand_for_billions() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let of = format!("*a{}, ", level - 1).repeat(10);
        let _ = writeln!(text, "a{level}: &a{level} [{of}]");
    }
    assert!(matches!(refused(&text), Error::Nodes { .. }));
    let mut text = String::from("a0: &a0 {k: 1}\n");
    for level in 1..40 {
        let _ = writeln!(
            text,
            "a{level}: &a{level}\n  l: *a{0}\n  r: *a{0}",
            level - 1
        );
    }
    assert!(matches!(refused(&text), Error::Nodes { .. }));
}

#[test]
fn many_values() {
    let text = "- a\n".repeat(MAX_NODES + 1);
    assert!(matches!(refused(&text), Error::Nodes { .. }));
    assert!(matches!(
        refused(&"x".repeat(MAX_BYTES + 1)),
        Error::Size { .. }
    ));
}

#[test]
fn long_numbers() {
    assert!(matches!(
        refused(&"9".repeat(100_000)),
        Error::LongNumber { .. }
    ));
    assert!(matches!(
        refused(&format!("0x{}", "f".repeat(100_000))),
        Error::LongNumber { .. }
    ));
}

#[test]
fn blanks_to_be_put_right_everywhere() {
    let text = "a:\tx\n".repeat(100_000);
    assert!(load(&text, YamlLoadOptions::HIERA).is_err());
}
