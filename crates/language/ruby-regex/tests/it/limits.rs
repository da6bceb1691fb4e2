//! Patterns and texts that must not exhaust memory, stack or time.

use ruby_regex::defaults::{MAX_DEPTH, MAX_PATTERN_BYTES};
use ruby_regex::{Regex, SearchError};

/// Stack size in bytes of a coroutine; a release build takes a third of the stack of this build.
const SMALL_STACK_BYTES: usize = 1024 * 1024;

#[test]
fn exponential_patterns_end_with_an_error_that_names_them() {
    let text = format!("{}!", "a".repeat(64));
    for pattern in [
        "(a+)+$",
        "(a|aa)+$",
        "(a|a?)+$",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
    ] {
        let regex = Regex::new(pattern).unwrap();
        let error = regex.captures(&text).unwrap_err();
        assert!(matches!(error, SearchError::Backtracks { .. }), "{error}");
        assert!(error.to_string().contains(pattern), "{error}");
    }
    let regex = Regex::new("(a+)+$").unwrap();
    assert!(regex.is_match(&text).is_err());
    assert!(regex.replace(&text, "", true).is_err());
    assert!(regex.split(&text).is_err());
    assert_eq!(regex.matches(&text).count(), 1, "an error ends the search");
}

#[test]
fn what_is_replaced_is_bounded() {
    let regex = Regex::new(".").unwrap();
    let error = regex.replace(&"x".repeat(10_000), &r"\`".repeat(5), true);
    assert!(matches!(error, Err(SearchError::TooLong { .. })));
}

#[test]
fn no_pattern_takes_the_stack() {
    let deep = |open: &str, close: &str, depth: usize| {
        format!("{}a{}", open.repeat(depth), close.repeat(depth))
    };
    let long = MAX_PATTERN_BYTES;
    let patterns = vec![
        deep("(", ")", MAX_DEPTH),
        deep("(?:", ")*", MAX_DEPTH),
        deep("(?=", ")", MAX_DEPTH),
        deep("(a|", ")", MAX_DEPTH),
        deep("[a", "]", MAX_DEPTH),
        deep("(", ")", long / 2 - 1),
        deep("[", "]", long / 2 - 1),
        "(".repeat(long),
        "[".repeat(long),
        "a|".repeat(long / 2),
        "a?".repeat(long / 2),
        "(a)".repeat(long / 3),
        ".".repeat(long),
        "[a]".repeat(long / 3),
        "a*?b".repeat(long / 4),
        "(?i)".repeat(long / 4),
        "a**".repeat(long / 3),
        format!("a{}", "*".repeat(long - 1)),
        format!("a{}", "{2}".repeat(long / 3 - 1)),
        "x".repeat(long + 1),
    ];
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK_BYTES);
    let compiled = thread.spawn(move || {
        for pattern in patterns {
            if let Ok(regex) = Regex::new(&pattern) {
                let _ = regex.is_match("aaab");
            }
        }
    });
    compiled.unwrap().join().unwrap();
}

#[test]
fn deeper_nesting_is_refused() {
    let pattern = format!(
        "{}a{}",
        "(".repeat(MAX_DEPTH + 1),
        ")".repeat(MAX_DEPTH + 1)
    );
    let error = Regex::new(&pattern).unwrap_err().to_string();
    assert!(
        error.starts_with("groups or brackets are nested deeper"),
        "{error}"
    );
}
