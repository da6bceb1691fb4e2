//! Random manifests: no panic, bounded time, the same document twice, and edges between resources.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::entry;

/// Statements that refer to the same few names.
const STATEMENTS: &[&str] = &[
    "notify { 'a': }",
    "notify { 'b': message => 'b', tag => ['x'] }",
    "notify { ['c', 'd']: require => Notify['a'] }",
    "@notify { 'e': }",
    "@@notify { 'f': }",
    "@d { 'v': }",
    "file { '/a': ensure => file, mode => '0644' }",
    "file { '/b': content => 'x', before => File['/a'] }",
    "d { 'a': }",
    "d { 'b': x => 2, notify => Notify['a'] }",
    "e { 'a': }",
    "include a",
    "include b",
    "contain b",
    "contain c",
    "require c",
    "class { 'a': }",
    "class { 'c': y => 1, stage => 'late' }",
    "stage { 'late': require => Stage['main'] }",
    "Notify <| |>",
    "Notify <| title == 'e' |> { message => 'changed' }",
    "Notify <| tag == 'x' or title != 'a' |> -> File <| |>",
    "Notify <<| |>>",
    "D <| |>",
    "D <| title == 'v' |> { x => 3 }",
    "Class['b'] -> Notify['a']",
    "Notify['a'] ~> D['a']",
    "File['/a'] -> File['/b'] -> Notify['b']",
    "Notify['a'] { message => 'override' }",
    "File['/a'] { mode => undef, noop +> true }",
    "Notify { loglevel => 'debug' }",
    "File { owner => 'root' }",
    "realize Notify['e']",
    "realize(D['v'], Notify['e'])",
    "tag 'x', 'y'",
    "create_resources('notify', { 'g' => {}, 'a' => { 'message' => 1 } })",
    "ensure_resource('notify', 'a')",
    "['h', 'i'].each |$n| { notify { $n: } }",
    "if defined(Notify['a']) { notify { 'j': } }",
    "notify { 'k': message => $title }",
    "notify { default: message => 'm'; 'l': ; 'm': message => undef }",
    "notify { \"in ${name}\": }",
];

fn statements() -> impl Strategy<Value = String> {
    let statement = prop::sample::select(STATEMENTS);
    prop::collection::vec(statement, 0..6).prop_map(|it| it.join("\n"))
}

prop_compose! {
    fn manifest()(
        a in statements(), b in statements(), c in statements(), d in statements(),
        e in statements(), node in statements(), top in statements(), parent in any::<bool>(),
    ) -> String {
        let inherits = if parent { "inherits a" } else { "" };
        format!(
            "class a {{ {a} }}\nclass b {inherits} {{ {b} }}\nclass c($y = 0) {{ {c} }}\n\
             define d($x = 1) {{ {d} }}\ndefine e {{ {e} }}\nnode default {{ {node} }}\n{top}"
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_manifests_compile_alike_twice(text in manifest()) {
        let begin = Instant::now();
        let _ = entry::compile(&text);
        let took = begin.elapsed();
        prop_assert!(took < Duration::from_secs(20), "{took:?} for {text}");
    }

    #[test]
    fn arbitrary_pieces_compile_or_fail(
        pieces in prop::collection::vec(prop::sample::select(STATEMENTS), 0..8),
        cut in 0_usize..200,
    ) {
        let text = pieces.join("\n");
        let end = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
        entry::manifest(&text.as_bytes()[..end]);
    }
}

#[test]
fn some_random_manifests_compile() {
    let text =
        "class a { notify { 'a': } } define d { notify { \"in ${name}\": } } include a d { 'b': }";
    assert!(entry::compile(text).is_ok());
}
