//! `psych::emit` against Ruby's Psych: the documents and scalars of `cases/`, and texts made of all
//! signs that mean something, as values, elements, keys and documents.

use std::sync::Arc;

use oracles::{ask, cases};
use psych::{
    EmitLayout, ScalarStyle, YamlLoadOptions, YamlMapping, YamlTreeNode, YamlValue, emit, load,
};
use serde_json::{Value as Json, json};

use crate::psych::tagged;

const PIECES: [&str; 38] = [
    "a", "b", "word", "Z9", "0", "1", "8", " ", "  ", "\n", "\n\n", "\t", "\r", ":", ": ", "#",
    " #", "-", "- ", "?", "? ", "'", "\"", "\\", "!", "%", "@", "&", "*", "|", ">", "{", "[", ",",
    "é", "\u{2028}", "\u{7}", "🙂",
];

/// A generator that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn text(&mut self, pieces: usize) -> String {
        (0..self.below(pieces))
            .map(|_| PIECES[self.below(PIECES.len())])
            .collect()
    }

    fn tree(&mut self, depth: usize) -> YamlValue {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => string(&self.text(6)),
            1 => YamlValue::Integer(i64::try_from(self.below(2000)).unwrap() - 1000),
            2 => YamlValue::Null,
            3 => YamlValue::Bool(self.below(2) == 0),
            4 => string(&self.text(3)),
            5 | 6 => YamlValue::Sequence(Arc::new(
                (0..self.below(4))
                    .map(|_| node(self.tree(depth - 1)))
                    .collect(),
            )),
            _ => {
                let entry = |_| (node(self.tree(depth - 1)), node(self.tree(depth - 1)));
                let count = [0, 1, 2, 3][depth % 4];
                YamlValue::Mapping(Arc::new((0..count).map(entry).collect()))
            }
        }
    }
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

fn mapping(key: YamlValue, value: YamlValue) -> YamlValue {
    YamlValue::Mapping(Arc::new(YamlMapping::from_iter([(node(key), node(value))])))
}

fn trees() -> Vec<YamlValue> {
    let mut dice = Dice(7);
    let mut texts = cases("scalars.txt").unwrap();
    texts.extend((0..1500).map(|_| dice.text(9)));
    let words = "some words that are long enough to be broken at the end of a line ".repeat(3);
    texts.extend(
        (0..words.len())
            .step_by(7)
            .map(|end| words[..end].to_owned()),
    );
    texts.extend((60..90).map(|end| format!("{}: 'x'  y", &words[..end])));
    texts.extend((60..90).map(|end| format!("{}\n {}", &words[..end], &words[end..])));
    texts.extend((120..135).map(|length| "k".repeat(length)));
    let mut trees = Vec::new();
    for text in &texts {
        let value = string(text);
        trees.push(mapping(value.clone(), value.clone()));
        trees.push(YamlValue::Sequence(Arc::new(vec![node(mapping(
            string("k"),
            value.clone(),
        ))])));
        trees.push(value);
    }
    trees.push(YamlValue::Sequence(Arc::new(
        ["a\n\n\n", "b", "c d\ne", "f\n\n\n", "'"]
            .map(|it| node(string(it)))
            .to_vec(),
    )));
    trees.push(mapping(string("a"), string("b\n\n\n")));
    trees.extend((0..1500).map(|_| dice.tree(4)));
    for number in [
        0.0,
        -0.0,
        1.5,
        1e20,
        1e-7,
        1e16,
        123456789.125,
        f64::NAN,
        f64::INFINITY,
    ] {
        trees.push(YamlValue::Float(number));
    }
    trees.push(YamlValue::Binary(Arc::from(&b"\xff\x00abc"[..])));
    trees.push(mapping(
        YamlValue::Symbol("a b".into()),
        YamlValue::Symbol("default".into()),
    ));
    let documents = cases("documents.txt").unwrap().join("\n");
    for text in documents.split("\n=====\n") {
        if let Ok(document) = load(text, YamlLoadOptions::HIERA) {
            trees.extend(document.root.map(|root| root.value));
        }
    }
    trees
}

#[test]
fn what_is_written_is_what_psych_writes() {
    let trees = trees();
    assert!(trees.len() > 5000, "only {} trees", trees.len());
    let layouts = [
        (json!({}), EmitLayout::default()),
        (
            json!({"line_width": -1}),
            EmitLayout {
                line_width: Some(-1),
                ..EmitLayout::default()
            },
        ),
        (
            json!({"line_width": 30, "indentation": 4}),
            EmitLayout {
                line_width: Some(30),
                indentation: 4,
            },
        ),
    ];
    let question = json!({
        "trees": trees.iter().map(|tree| tagged(&node(tree.clone()))).collect::<Json>(),
        "options": layouts.iter().map(|(theirs, _)| theirs).collect::<Vec<_>>(),
    });
    let answers = ask("emit.rb", &question).unwrap();
    let mut wrong = Vec::new();
    for (tree, theirs) in trees.iter().zip(answers.as_array().unwrap()) {
        for ((_, layout), theirs) in layouts.iter().zip(theirs.as_array().unwrap()) {
            let ours = emit(tree, *layout).unwrap();
            if theirs != &json!(ours) {
                wrong.push(format!(
                    "{}\nours  {ours:?}\nPsych {theirs}",
                    tagged(&node(tree.clone()))
                ));
            }
        }
    }
    let shown = wrong
        .iter()
        .take(30)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} differ:\n{shown}", wrong.len());
}
