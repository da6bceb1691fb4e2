//! Ruby's results, case by case; `tests/oracles` compares them with Ruby.

use ruby_regex::{Regex, RegexCache, RegexFlags, SearchError};

fn first(pattern: &str, subject: &str) -> Option<Vec<Option<String>>> {
    let regex = Regex::new(pattern).unwrap();
    let found = regex.captures(subject).unwrap()?;
    Some(found.iter().map(|it| it.map(str::to_owned)).collect())
}

fn whole(pattern: &str, subject: &str) -> Option<String> {
    first(pattern, subject)?.swap_remove(0)
}

fn refused(pattern: &str) -> String {
    Regex::new(pattern).unwrap_err().to_string()
}

#[test]
fn anchors_are_those_of_lines() {
    assert_eq!(whole("^two$", "one\ntwo\n").as_deref(), Some("two"));
    assert_eq!(whole(r"\Atwo", "one\ntwo\n"), None);
    assert_eq!(whole(r"two\Z", "one\ntwo\n").as_deref(), Some("two"));
    assert_eq!(whole(r"two\z", "one\ntwo\n"), None);
    assert_eq!(whole("e.t", "one\ntwo"), None);
    assert_eq!(whole("(?m)e.t", "one\ntwo").as_deref(), Some("e\nt"));
    assert_eq!(whole("^*two", "two").as_deref(), Some("two"));
}

#[test]
fn shorthands_are_ascii_and_brackets_are_not() {
    assert_eq!(whole(r"\w+", "éa_1é").as_deref(), Some("a_1"));
    assert_eq!(whole("[[:alpha:]]+", "éa_1é").as_deref(), Some("éa"));
    assert_eq!(whole(r"(?u)\w+", "éa_1é").as_deref(), Some("éa_1é"));
    assert_eq!(whole("(?a)[[:alpha:]]+", "éa_1é").as_deref(), Some("a"));
    assert_eq!(whole(r"\b\w", "éa b").as_deref(), Some("b"));
    assert_eq!(whole(r"(?a)\b\w", "éa b").as_deref(), Some("a"));
    assert_eq!(whole(r"(?i)\w", "ſ"), None);
    assert_eq!(whole("[[:punct:]]+", "☺$"), Some("$".into()));
    assert_eq!(whole(r"[^\s\w]+", "ab, cd").as_deref(), Some(","));
}

#[test]
fn characters_may_be_numbers() {
    assert_eq!(whole(r"\u{263a 61}", "x☺a").as_deref(), Some("☺a"));
    assert_eq!(whole(r"\u00e9", "é").as_deref(), Some("é"));
    assert_eq!(whole(r"\xc3\xa9|\303\257", "ï").as_deref(), Some("ï"));
    assert_eq!(whole(r"[\u{e0}-\u{ff}]", "é").as_deref(), Some("é"));
    assert_eq!(whole(r"a\0b", "a\0b").as_deref(), Some("a\0b"));
}

#[test]
fn groups() {
    let texts = |found: &[Option<&str>]| -> Option<Vec<Option<String>>> {
        Some(found.iter().map(|it| it.map(str::to_owned)).collect())
    };
    assert_eq!(first("(a)|(b)", "b"), texts(&[Some("b"), None, Some("b")]));
    // If some groups have names, others do not capture.
    assert_eq!(first("(?<x>a)(b)", "ab"), texts(&[Some("ab"), Some("a")]));
    assert_eq!(
        whole(r"(?<p>\((?:[^()]|\g<p>)*\))", "f(a(b)c)").as_deref(),
        Some("(a(b)c)")
    );
    let regex = Regex::new("(?<n>a)|(?<n>b)").unwrap();
    assert_eq!(regex.names(), [("n".to_owned(), vec![1, 2])]);
    let found = regex.captures("xby").unwrap().unwrap();
    assert_eq!(found.name("n"), Some("b"));
    assert_eq!((found.text_before(), found.text_after()), ("x", "y"));
    assert_eq!(
        (found.span(0), found.span(1), found.span(9)),
        (Some(1..2), None, None)
    );
}

#[test]
fn matches_may_be_empty_and_follow_each_other() {
    let regex = Regex::new("b*").unwrap();
    let spans: Vec<_> = regex
        .matches("abé")
        .map(|it| it.unwrap().span(0).unwrap())
        .collect();
    assert_eq!(spans, [0..0, 1..2, 2..2, 4..4]);
    assert_eq!(regex.replace("abc", "-", true).unwrap(), "-a--c-");
    assert_eq!(regex.replace("abc", "-", false).unwrap(), "-abc");
}

#[test]
fn replacements_refer_to_groups() {
    let replace = |pattern: &str, with: &str| {
        let regex = Regex::new(pattern).unwrap();
        regex.replace("xaby", with, true)
    };
    assert_eq!(replace("(a)(b)", r"\2\1\0\&\3").unwrap(), "xbaababy");
    assert_eq!(
        replace("ab", r"[\`|\'|\\|\q|\k]").unwrap(),
        r"x[x|y|\|\q|\k]y"
    );
    assert_eq!(replace("(?<l>a)", r"<\k<l>\1>").unwrap(), "x<a>by");
    let error = replace("(a)", r"\k<1>").unwrap_err();
    assert!(matches!(error, SearchError::NoSuchGroup { .. }));
    assert!(
        error
            .to_string()
            .starts_with("undefined group name reference: 1")
    );
    let upper = Regex::new("[ab]").unwrap();
    let upper = upper.replace_with("xaby", true, |found, into| {
        into.push_str(&found.get(0).unwrap().to_uppercase());
        Ok::<_, SearchError>(())
    });
    assert_eq!(upper.unwrap(), "xABy");
}

#[test]
fn splits() {
    let split = |pattern: &str, text: &'static str| {
        let regex = Regex::new(pattern).unwrap();
        regex.split(text).unwrap()
    };
    assert_eq!(split(r"\s*,\s*", "a , b,,c,,"), ["a", "b", "", "c"]);
    assert_eq!(split("", "héy"), ["h", "é", "y"]);
    assert_eq!(split("(,)(x)?", "a,b,xc"), ["a", ",", "b", ",", "x", "c"]);
    assert_eq!(split("b*", "abc"), ["a", "c"]);
    assert!(split(",", "").is_empty());
    assert!(split(",", ",,").is_empty());
}

#[test]
fn patterns_are_printed_with_their_flags() {
    let flags = RegexFlags {
        ignore_case: true,
        ..RegexFlags::default()
    };
    let regex = Regex::with_flags("a/b", flags).unwrap();
    assert_eq!(regex.inspect(), r"/a\/b/i");
    assert_ne!(regex, Regex::new("a/b").unwrap());
}

#[test]
fn refusals_read_as_in_ruby() {
    for (pattern, expected) in [
        ("(a", "end pattern with unmatched parenthesis: /(a/"),
        ("a)", "unmatched close parenthesis: /a)/"),
        ("[a", "premature end of char-class: /[a/"),
        ("[]", "empty char-class: /[]/"),
        ("*", "target of repeat operator is not specified: /*/"),
        (r"a\", r"too short escape sequence: /a\/"),
        (
            r"[\w-.]",
            r"unmatched range specifier in char-class: /[\w-.]/",
        ),
        ("(?z)", "undefined group option: /(?z)/"),
        (r"\k<nope>", r"undefined name <nope> reference: /\k<nope>/"),
        (
            r"\p{Nope}",
            r"invalid character property name {Nope}: /\p{Nope}/",
        ),
        (r"\xff", r"invalid multibyte escape: /\xff/"),
        (
            "a{2,1}",
            "upper is smaller than lower in repeat range: /a{2,1}/",
        ),
    ] {
        assert_eq!(refused(pattern), expected);
    }
}

#[test]
fn a_cache_forgets_what_is_not_asked_for() {
    let cache = RegexCache::new(2);
    let of = |source: &str| cache.get(source, RegexFlags::default());
    let a = of("a").unwrap();
    assert_eq!(of("a").unwrap(), a);
    of("b").unwrap();
    of("c").unwrap();
    assert_eq!(cache.len(), 2);
    assert!(of("(").is_err());
    assert_eq!(cache.len(), 2);
    for index in 0..10 {
        of(&format!("x{index}")).unwrap();
        assert!(cache.len() <= 2 && !cache.is_empty());
    }
}

#[test]
fn patterns_go_from_thread_to_thread() {
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    shared(&Regex::new("a").unwrap());
}
