//! Trees to texts, as Ruby 3.1 with libyaml 0.2.5 writes them, and back.

use proptest::prelude::*;
use psych::{
    EmitError, EmitLayout, ScalarStyle, YamlLoadOptions, YamlTreeNode, YamlValue, emit, load,
};
use std::sync::Arc;

fn written(text: &str) -> String {
    let document = load(text, YamlLoadOptions::HIERA).expect("it is YAML");
    let root = document.root.map_or(YamlValue::Null, |it| it.value);
    emit(&root, EmitLayout::default()).expect("it is small")
}

fn string(text: &str) -> YamlValue {
    YamlValue::String(text.into())
}

fn node(value: YamlValue) -> YamlTreeNode {
    YamlTreeNode {
        value,
        line: 0,
        column: 0,
        style: ScalarStyle::Plain,
    }
}

#[test]
fn collections_stand_in_blocks_and_empty_ones_on_the_line() {
    assert_eq!(
        written("{a: [1, {b: 2, c: []}], d: {}, e: null}"),
        "---\na:\n- 1\n- b: 2\n  c: []\nd: {}\ne:\n"
    );
    assert_eq!(
        written("{? [1] : 2, ? {a: 1} : 3}"),
        "---\n? - 1\n: 2\n? a: 1\n: 3\n"
    );
}

#[test]
fn texts_are_quoted_where_they_would_be_read_as_something_else() {
    for (text, wanted) in [
        ("", "--- ''\n"),
        ("123", "--- '123'\n"),
        ("1e3", "--- 1e3\n"),
        ("yes", "--- 'yes'\n"),
        ("y", "--- \"y\"\n"),
        ("<<", "--- !!str '<<'\n"),
        ("a: b", "--- 'a: b'\n"),
        ("- a", "--- \"- a\"\n"),
        ("a'b", "--- a'b\n"),
        ("a\n", "--- 'a\n\n  '\n"),
        ("a\nb\n", "--- |\n  a\n  b\n"),
        ("a\nb\n\n", "--- |+\n  a\n  b\n\n...\n"),
        ("\na", "--- |2-\n\n  a\n"),
        ("é\u{7}🙂", "--- \"é\\a\\U0001F642\"\n"),
    ] {
        let ours = emit(&string(text), EmitLayout::default()).expect("it is small");
        assert_eq!(ours, wanted, "{text:?}");
    }
}

#[test]
fn long_texts_are_broken_or_folded() {
    let text = "word ".repeat(20);
    let line = "word ".repeat(15);
    assert_eq!(
        emit(&string(&text), EmitLayout::default()).expect("it is small"),
        format!("--- '{line}word\n  word word word word '\n")
    );
    let narrow = EmitLayout {
        line_width: Some(20),
        indentation: 4,
    };
    let text = "some words that are folded";
    assert_eq!(
        emit(&string(text), narrow).expect("it is small"),
        "--- >-\n    some words that are\n    folded\n"
    );
}

#[test]
fn trees_without_end_are_refused() {
    let mut deep = string("x");
    for _ in 0..psych::defaults::MAX_EMIT_DEPTH + 1 {
        deep = YamlValue::Sequence(Arc::new(vec![node(deep)]));
    }
    let limit = psych::defaults::MAX_EMIT_DEPTH;
    assert_eq!(
        emit(&deep, EmitLayout::default()),
        Err(EmitError::Depth { limit })
    );
    // shared lists that would be 4^20 texts
    let mut wide = string("x");
    for _ in 0..20 {
        wide = YamlValue::Sequence(Arc::new(vec![node(wide); 4]));
    }
    let limit = psych::defaults::MAX_EMIT_BYTES;
    assert_eq!(
        emit(&wide, EmitLayout::default()),
        Err(EmitError::Size { limit })
    );
}

proptest! {
    /// Signs that YAML 1.1 and 1.2 read differently are left out.
    #[test]
    fn what_is_written_is_read_again(texts in prop::collection::vec("[a-z0-9 :#'\"\\[\\]{},!&*|>%@-]{0,40}(\n[ a-z]{0,8}){0,3}", 0..4)) {
        let items = texts.iter().map(|it| node(string(it))).collect();
        let tree = YamlValue::Sequence(Arc::new(items));
        let text = emit(&tree, EmitLayout::default()).expect("it is small");
        let read = load(&text, YamlLoadOptions::HIERA).expect("it is YAML").root.expect("it is there");
        prop_assert_eq!(read.value, tree, "{}", text);
    }
}
