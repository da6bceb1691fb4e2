//! Arbitrary and hostile files: no panic, and no time beyond the size of the file.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use resource_types::{RubyLibrary, StaticReading, read_ruby_type};

use crate::entry;

/// Parts of type files, which are combined at random.
const PIECES: &[&str] = &[
    "Puppet::Type.newtype(:thing) do\n",
    "Puppet::ResourceApi.register_type(name: 'thing', attributes: {",
    "newparam(:name) do\n",
    "newparam(:a, namevar: true)\n",
    "newproperty(:b) { }\n",
    "ensurable\n",
    "isnamevar\n",
    "provide(:x) do\n",
    "end\n",
    "def self.title_patterns\n",
    "[[/(.*)/m, [[:a]]]]\n",
    "name: { behaviour: :namevar },",
    "title_patterns: [{pattern: /(?<a>.)/}],",
    "})",
    "require 'ab'\n",
    "require_relative '../x'\n",
    "include A::B\n",
    "class << self\n",
    "module A\n",
    "[:c, :d].each { |x| newparam(x) }\n",
    "\"#{",
    "}",
    "\"",
    "'",
    "%w[",
    "%r{",
    "]",
    "/",
    "<<~A\n",
    "A\n",
    "?",
    ":",
    "|",
    "(",
    ")",
    "{",
    "if ",
    "while ",
    " do ",
    "\\",
    "\n",
    ";",
    "=begin\n",
    "=end\n",
    "__END__\n",
    "@isomorphic = false\n",
    "x = ",
    "é",
    "Puppet::Resource::ResourceType3.new('thing', [], [",
    "Puppet::Resource::Param(Any, 'a', true),",
    "], {/(.*)/ => ['a']}, true, false)",
];

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        entry::generated_type(&bytes);
        entry::ruby_type(&bytes);
    }

    #[test]
    fn arbitrary_pieces_are_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30),
    ) {
        let text = pieces.concat();
        entry::generated_type(text.as_bytes());
        entry::ruby_type(text.as_bytes());
    }

    #[test]
    fn truncated_files_are_read_or_refused(length in 0_usize..700) {
        let text = include_bytes!("whole_type.rb");
        entry::ruby_type(&text[..length.min(text.len())]);
    }
}

struct Empty;

impl RubyLibrary for Empty {
    fn read(&self, _: &str) -> Option<String> {
        None
    }

    fn provider_features(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Files of 100 kB, of forms that are slow in readers which look far ahead: quadratic time would be
/// minutes.
#[test]
fn hostile_files_take_little_time() {
    for piece in [
        "(",
        ")",
        "{ |",
        "[",
        "do\n",
        "def a(",
        "def ",
        "if a\n",
        "#\n",
        "\n",
        "a.\n",
        "\"#{",
        "<<A ",
        "<<'",
        "<<A\n",
        "%w[",
        "/",
        "'",
        "=begin\n",
        ":'",
        "?",
        "a /b\n",
        "module Puppet\n",
        "newparam(:a)\n",
        "require 'a'\n",
        "while a do ",
        "[:a].each { |b| ",
        "class << self\n",
        "a,",
        "a: ",
        "{ a: ",
        "->(",
        "\\\n",
        "@",
        "$",
        "::",
        "x = [",
        "lambda { |",
        "é",
    ] {
        is_read_in_little_time(piece, &piece.repeat(100_000 / piece.len()));
    }
}

/// Files of 100 kB in which a far part decides about a near one.
#[test]
fn hostile_endings_take_little_time() {
    let lines = |line: &str| line.repeat(100_000 / line.len());
    for (name, text) in [
        (
            "blank lines before a dot",
            format!("a = b{}.c", lines("\n")),
        ),
        (
            "comments before a dot",
            format!("a = b\n{}.c", lines("#\n")),
        ),
        (
            "keys of a hash",
            format!(
                "Puppet::ResourceApi.register_type({})",
                (0..20_000)
                    .map(|key| format!("a{key}: 1,"))
                    .collect::<String>()
            ),
        ),
        (
            "nested singletons",
            format!("{}{}", "class << a\n".repeat(7_000), "end\n".repeat(7_000)),
        ),
    ] {
        is_read_in_little_time(name, &text);
    }
}

/// Fails if quadratic time is spent on a text, or on a type with that body.
fn is_read_in_little_time(name: &str, text: &str) {
    let inside = format!("Puppet::Type.newtype(:thing) do\n{text}\nend\n");
    for text in [text, &inside] {
        let begin = Instant::now();
        let _ = read_ruby_type("thing", text, &Empty);
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(10), "{name:?} took {took:?}");
    }
}

#[test]
fn loops_are_bounded() {
    let names = ":a, ".repeat(20_000);
    let body = "newparam(x) { desc 'a' }; ".repeat(10_000);
    let text = format!("Puppet::Type.newtype(:thing) do\n[{names}].each {{ |x| {body} }}\nend");
    assert!(matches!(
        read_ruby_type("thing", &text, &Empty),
        StaticReading::NeedsRuby { .. }
    ));
    let body = format!("newparam(x); y = %w[{}]", "a ".repeat(1_000));
    let text = format!("Puppet::Type.newtype(:thing) do\n[{names}].each {{ |x| {body} }}\nend");
    let StaticReading::NeedsRuby { reason, .. } = read_ruby_type("thing", &text, &Empty) else {
        panic!("read");
    };
    assert_eq!(reason, "an unusual loop");
    let files = " ".repeat(2 * 1024 * 1024);
    let StaticReading::NeedsRuby { reason, .. } = read_ruby_type("thing", &files, &Empty) else {
        panic!("read");
    };
    assert!(reason.contains("larger than"), "{reason}");
}
