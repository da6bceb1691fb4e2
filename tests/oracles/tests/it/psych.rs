//! `psych` against Ruby's Psych: scalars of `cases/scalars.txt` in every place where one may
//! stand, generated numbers and words, and the documents of `cases/documents.txt`.

use oracles::{ask, cases};
use psych::{Error, YamlLoadOptions, YamlTreeNode, YamlValue as Yaml, load};
use serde_json::{Value, json};

/// Texts that are read differently: all but four are read here and refused there, or the other
/// way round, because ours is the notation of YAML 1.2.
const DIFFERENT: &[&str] = &[
    "\ta: b",
    "- \ta",
    "a: |\n  x\n\t",
    "a: 'x'#y",
    ": b",
    " : v",
    "...",
    "?",
    "- ?",
    "{k: ?}",
    "{k: ?a}",
    "{k: !}",
    "{k: !tag}",
    "{k: |}",
    "{k: >}",
    "{k: -}",
    // Psych does not look behind the first value.
    "{k: }}",
    "\"a\" b",
    "'a' b",
    "\"a\"b",
    // To Psych, the anchor's name ends before the colon.
    "&anchor: v",
    // Psych makes text of it.
    "!ruby/object:Foo x",
    "k: !ruby/object:Foo x",
    "- !ruby/object:Foo x",
    "{k: !ruby/object:Foo x}",
    "!ruby/object:Foo x: v",
];

/// Behind a brace, Psych takes no plain text that begins with a colon.
fn is_symbol_in_braces(text: &str) -> bool {
    text.starts_with("{k: :") && !text.starts_with("{k: ::}")
}

#[test]
fn scalars_are_what_psych_says() {
    let mut texts = Vec::new();
    for scalar in cases("scalars.txt").unwrap().into_iter().chain(generated()) {
        texts.push(scalar.clone());
        texts.push(format!("k: {scalar}"));
        texts.push(format!("- {scalar}"));
        texts.push(format!("{{k: {scalar}}}"));
        texts.push(format!("{scalar}: v"));
    }
    assert!(texts.len() > 2500, "only {} texts", texts.len());
    compare(&texts, false);
    compare(&texts, true);
}

#[test]
fn documents_are_what_psych_says() {
    let lines = cases("documents.txt").unwrap().join("\n");
    let texts: Vec<String> = lines
        .split("\n=====\n")
        .map(|text| text.replace("<TAB>", "\t").replace("<CR>", "\r"))
        .collect();
    assert!(texts.len() > 100, "only {} documents", texts.len());
    compare(&texts, false);
}

/// Texts of the shapes that numbers, times and words have, and near them.
fn generated() -> Vec<String> {
    let mut texts = Vec::new();
    for sign in ["", "-", "+"] {
        for body in [
            "0",
            "7",
            "08",
            "010",
            "0o7",
            "0x1F",
            "0xg",
            "0b11",
            "0b2",
            "1_000",
            "1,000",
            "1__0",
            "1_",
            "_1",
            "1,",
            "0_7",
            "0,7",
            "0x_1",
            "12:30",
            "1:2:3",
            "1:60",
            "12:30.5",
            "1_0:30",
            "1.5",
            "1.",
            ".5",
            ".",
            "1.5e3",
            "1.5e+3",
            "1.5E-3",
            "1e3",
            "1.e+3",
            "1_0.5",
            "1,0.5",
            "1.5_0",
            ".inf",
            ".INF",
            ".Inf",
            ".nan",
            ".NaN",
            "9223372036854775807",
            "9223372036854775808",
            "0xffffffffffffffffff",
            "0777777777777777777777777",
            "123456789012345678901234567890",
            "1:2:3:4",
            "60:60",
            "1.2.3",
            "1-2",
            "1/2",
            "1 2",
            "0.0",
            "00",
            "0x",
            "0b",
            "1e+3",
            "190:20:30",
            "190:20:30.15",
            "1__0:30",
            "1_:30",
        ] {
            texts.push(format!("{sign}{body}"));
        }
    }
    for word in [
        "yes", "no", "on", "off", "true", "false", "null", "y", "n", "t", "f",
    ] {
        let mut capital = word.to_owned();
        capital[..1].make_ascii_uppercase();
        texts.extend([
            word.to_owned(),
            word.to_uppercase(),
            capital,
            format!("{word}s"),
        ]);
        texts.extend([format!("{word}."), format!("x{word}"), format!(":{word}")]);
    }
    texts
}

/// Panics with all texts that are read differently.
fn compare(texts: &[String], times: bool) {
    let question = json!({"texts": texts, "times": times});
    let answers = ask("psych.rb", &question).unwrap();
    let options = YamlLoadOptions {
        times,
        ..YamlLoadOptions::HIERA
    };
    let mut wrong = Vec::new();
    for (text, theirs) in texts.iter().zip(answers.as_array().unwrap()) {
        let ours = match load(text, options) {
            Ok(document) => match document.root {
                Some(root) => json!({"value": tagged(&root)}),
                None => json!({"value": null}),
            },
            Err(error) => json!({"error": class_of(&error), "text": error.to_string()}),
        };
        let same = match (ours["error"].as_str(), theirs["error"].as_str()) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => ours == *theirs,
        };
        let known = DIFFERENT.contains(&text.as_str()) || is_symbol_in_braces(text);
        if known {
            assert!(!same, "{text:?} is as in Psych now");
        } else if !same {
            wrong.push(format!("{text:?}: ours {ours} Psych {theirs}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        texts.len(),
        wrong.join("\n")
    );
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Unpermitted { .. } => "Psych::DisallowedClass",
        Error::Number { .. } => "ArgumentError",
        Error::Syntax { what, .. } if what.contains("unknown anchor") => "Psych::BadAlias",
        Error::Syntax { .. } => "syntax",
        _ => "ours",
    }
}

pub(crate) fn tagged(node: &YamlTreeNode) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(it) => json!(it),
        Yaml::Integer(it) => json!({"int": it.to_string()}),
        Yaml::BigInteger(it) => json!({"int": it.as_ref()}),
        Yaml::Float(it) if it.is_nan() => json!({"float": "nan"}),
        Yaml::Float(it) if it.is_infinite() => {
            json!({"float": if *it > 0.0 { "Infinity" } else { "-Infinity" }})
        }
        Yaml::Float(it) => json!({"float": format!("{:016x}", it.to_bits())}),
        Yaml::String(it) => json!({"str": it.as_ref()}),
        Yaml::Symbol(it) => json!({"sym": it.as_ref()}),
        Yaml::Binary(it) => {
            let hex: String = it.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"bin": hex})
        }
        Yaml::Date(it) => json!({"date": [it.year, it.month, it.day]}),
        Yaml::Time(it) => json!({"time": [it.seconds, it.nanoseconds]}),
        Yaml::Sequence(items) => items.iter().map(tagged).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| json!([tagged(key), tagged(value)]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
    }
}
