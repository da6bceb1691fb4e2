//! Titles and keys of Ruby types and of files that `puppet generate types` writes.

use std::sync::Arc;

use oracles::{Puppet, ask_puppet};
use resource_types::{
    ResourceType, StaticReading, TitleError, UniquenessKeyPart, core_type, read_generated_type,
    read_ruby_type,
};
use serde_json::{Value, json};
use syntax::SourceText;

use super::modules::Libraries;

const TITLES: &[&str] = &[
    "a",
    "/",
    "/a/b//",
    "C:/x/",
    "a@b",
    "a@b@c",
    "x::y",
    "a/b::c",
    "u::d@p::e",
    "a\nb",
    "é/ü",
    "",
    " ",
];

const PARAMETERS: &[(&str, &str)] = &[
    ("path", "/other"),
    ("name", "n"),
    ("provider", "p"),
    ("type", "t"),
    ("require", "r"),
    ("nonsense", "x"),
];

#[test]
fn titles_and_keys_are_those_of_puppet_8() {
    let library = Libraries::of_debian();
    let mut core = super::core_types::core_names();
    // Its titles are changed before they are parsed; no manifest has such a resource.
    core.retain(|name| name != "component");
    let mut types: Vec<Value> = core.iter().map(|name| json!({"name": name})).collect();
    for file in library.type_files() {
        let name = file.file_stem().unwrap().to_str().unwrap();
        // Modules may bring the core types, too, but Puppet loads a type once.
        if !types.iter().any(|it| it["name"] == name) {
            types.push(json!({"name": name, "file": file}));
        }
    }
    let parameters: serde_json::Map<String, Value> = PARAMETERS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let question = json!({
        "libraries": library.directories,
        "types": types,
        "titles": TITLES,
        "parameters": parameters,
    });
    let answer = ask_puppet(Puppet::Eight, "resource_titles.rb", &question).unwrap();
    let mut different = Vec::new();
    let (mut generated, mut ruby) = (0, 0);
    for (asked, theirs) in types.iter().zip(answer.as_array().unwrap()) {
        let name = asked["name"].as_str().unwrap();
        assert!(theirs["error"].is_null(), "{name}: {theirs}");
        let ours = read_generated(theirs["text"].as_str().unwrap());
        generated += 1;
        compare(name, &describe(&ours), &theirs["generated"], &mut different);
        if let Some(ours) = ruby_type(name, asked, &library) {
            ruby += 1;
            compare(name, &titles(&ours), &theirs["ruby"], &mut different);
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    eprintln!(
        "{generated} generated files and {ruby} types in Ruby, {} titles each",
        TITLES.len()
    );
}

fn ruby_type(name: &str, asked: &Value, library: &Libraries) -> Option<ResourceType> {
    let Some(file) = asked["file"].as_str() else {
        return core_type(name).map(|it| ResourceType::clone(it));
    };
    let text = std::fs::read_to_string(file).unwrap();
    match read_ruby_type(name, &text, library) {
        StaticReading::Complete(read) => Some(read),
        StaticReading::NeedsRuby { .. } => None,
    }
}

fn read_generated(text: &str) -> ResourceType {
    let source = Arc::new(SourceText::new(Some("generated.pp"), text));
    read_generated_type(&source).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn compare(name: &str, ours: &Value, theirs: &Value, different: &mut Vec<String>) {
    if ours != theirs {
        different.push(format!("{name}:\nours   {ours}\nPuppet {theirs}"));
    }
}

fn describe(ours: &ResourceType) -> Value {
    let patterns = ours.title_patterns().map(|patterns| {
        let patterns = patterns.iter();
        let described =
            patterns.map(|it| json!([it.source(), it.attributes().collect::<Vec<_>>()]));
        described.collect::<Vec<_>>()
    });
    json!({
        "name_variables": ours.name_variables().collect::<Vec<_>>(),
        "attributes": ours.attributes().map(|(name, _)| name).collect::<Vec<_>>(),
        "patterns": patterns,
        "isomorphic": ours.is_isomorphic(),
        "titles": titles(ours),
    })
}

fn titles(ours: &ResourceType) -> Value {
    TITLES
        .iter()
        .map(|title| describe_title(ours, title))
        .collect()
}

fn describe_title(ours: &ResourceType, title: &str) -> Value {
    match describe_parts(ours, title) {
        Ok(described) => described,
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn describe_parts(ours: &ResourceType, title: &str) -> Result<Value, TitleError> {
    let accepted: Vec<&(&str, &str)> = PARAMETERS
        .iter()
        .filter(|(name, _)| ours.has_attribute(name))
        .collect();
    let set = |name: &str| {
        let stored = |it: &&&(&str, &str)| match it.0 {
            "name" => ours.name_variable() == name,
            other => other == name,
        };
        accepted.iter().rev().find(stored).map(|(_, value)| value)
    };
    let key = ours.uniqueness_key(title, |_| None::<&&str>)?;
    let key_with_parameters = ours.uniqueness_key(title, set)?;
    Ok(json!({
        "parts": ours.parse_title(title)?,
        "key": describe_key(&key),
        "accepted": accepted.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "key_with_parameters": describe_key(&key_with_parameters),
        "left_out": ours.name_variable(),
    }))
}

fn describe_key(key: &[UniquenessKeyPart<'_, &str>]) -> Value {
    let parts = key.iter().map(|part| match part {
        UniquenessKeyPart::Value(value) => json!(value),
        UniquenessKeyPart::Title(part) => json!(part),
        UniquenessKeyPart::Absent => Value::Null,
    });
    parts.collect()
}
