//! The aliases `Stdlib::..`.

use crate::world::{error, value};

#[test]
fn every_alias_is_a_type() {
    let mut count = 0;
    for name in stdlib::type_alias_names() {
        let ty = stdlib::named_type(name);
        assert!(ty.is_some(), "{name}: {:?}", stdlib::type_alias(name));
        let text = ty.map(|ty| ty.to_expanded_string()).unwrap_or_default();
        assert!(
            !text.contains("TypeReference"),
            "{name} names what nobody knows: {text}"
        );
        count += 1;
    }
    assert!(count > 60, "only {count}");
    assert!(stdlib::named_type("Stdlib::Nothing").is_none());
}

#[test]
fn names_have_no_case() {
    assert_eq!(value("80 =~ Stdlib::PORT"), "true");
    assert_eq!(value("'http://a' =~ Stdlib::HTTPUrl"), "true");
    assert_eq!(value("'http://a' =~ Stdlib::HttpUrl"), "true");
}

#[test]
fn a_mismatch_names_the_alias() {
    assert_eq!(
        error("assert_type(Stdlib::Port, 70000)"),
        "assert_type(): expects a Stdlib::Port = Integer[0, 65535] value, got Integer[70000, 70000]"
    );
}

#[test]
fn values_are_told_apart() {
    for (ty, good, bad) in [
        ("Absolutepath", "['/a', 'C:/a']", "['a', '']"),
        ("Fqdn", "['a.b', 'a']", "['-a', 'a..b']"),
        (
            "IP::Address",
            "['1.2.3.4', '::1', '1.2.3.4/8']",
            "['1.2.3', ':::']",
        ),
        (
            "IP::Address::V6::Nosubnet",
            "['1::2', '::1.2.3.4']",
            "['1::2/64']",
        ),
        ("MAC", "['00:11:22:33:44:55']", "['00:11:22']"),
        ("Email", "['a@b.c']", "['a']"),
        ("Filemode", "['0644', 'u=rw']", "['8', 'rw']"),
        ("Dns::Zone", "['a.', '.']", "['a']"),
        ("Http::Method", "['GET']", "['get']"),
        ("Unixpath", "['/', '/a//b']", "['//a', \"/a\\nb\"]"),
    ] {
        assert_eq!(
            value(&format!("{good}.all |$it| {{ $it =~ Stdlib::{ty} }}")),
            "true",
            "{ty}"
        );
        assert_eq!(
            value(&format!("{bad}.any |$it| {{ $it =~ Stdlib::{ty} }}")),
            "false",
            "{ty}"
        );
    }
}

/// A long path with an invalid end does not take exponential time.
#[test]
fn long_paths_end_soon() {
    assert_eq!(value("sprintf('/%02000d', 1) =~ Stdlib::Unixpath"), "true");
    assert_eq!(
        value("\"${sprintf('/%02000d', 1)}/\\n\" =~ Stdlib::Unixpath"),
        "false"
    );
}
