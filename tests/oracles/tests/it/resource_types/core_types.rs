//! The table of the core types, and the metaparameters.

use std::fmt::Write as _;
use std::path::PathBuf;

use oracles::{Puppet, ask_puppet};
use resource_types::{METAPARAMETERS, core_type, core_types};
use serde_json::{Value, json};

use super::{PUPPET_8, comparable, describe, entries, own};

const TABLE: &str = "../../crates/language/resource-types/src/core_types.txt";

/// `UPDATE_RESOURCE_TYPES=1` writes the table, then the test fails until the next build.
#[test]
fn core_types_are_those_of_puppet_8() {
    let answer = ask_about_core();
    let theirs = answer["types"].as_array().unwrap();
    if std::env::var_os("UPDATE_RESOURCE_TYPES").is_some() {
        std::fs::write(own(TABLE), table(theirs)).unwrap();
        return;
    }
    assert_eq!(theirs.len(), core_types().len());
    for theirs in theirs {
        let name = theirs["name"].as_str().unwrap();
        let ours = core_type(name).unwrap_or_else(|| panic!("no type {name}"));
        assert_eq!(&describe(ours), &comparable(theirs));
    }
}

#[test]
fn metaparameters_are_those_of_puppet_8() {
    let answer = ask_about_core();
    let ours: Vec<Value> = METAPARAMETERS
        .iter()
        .map(|it| json!({"name": it.name, "relationship": it.is_relationship}))
        .collect();
    assert_eq!(Value::from(ours), answer["metaparameters"]);
}

fn ask_about_core() -> Value {
    let names = core_names();
    let types: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let question = json!({"libraries": vendored_libraries(), "types": types});
    ask_puppet(Puppet::Eight, "resource_types.rb", &question).unwrap()
}

/// The modules that Puppet's package brings.
fn vendored_libraries() -> Vec<PathBuf> {
    let modules = entries(&own(PUPPET_8).join("usr/share/puppet/vendor_modules"));
    modules.iter().map(|module| module.join("lib")).collect()
}

/// Names of the types of Puppet, then of the modules that its package brings.
pub(super) fn core_names() -> Vec<String> {
    let puppet = own(PUPPET_8).join("usr/lib/ruby/vendor_ruby");
    let mut files = Vec::new();
    for library in std::iter::once(puppet).chain(vendored_libraries()) {
        files.extend(entries(&library.join("puppet/type")));
    }
    files.retain(|file| file.extension().is_some_and(|it| it == "rb"));
    let names = files.iter().filter_map(|file| file.file_stem()?.to_str());
    names.map(str::to_owned).collect()
}

/// The text of `core_types.txt`.
fn table(types: &[Value]) -> String {
    let mut text = String::from("# Written by `cargo xtask resource-types`.\n");
    for theirs in types {
        assert!(theirs["error"].is_null(), "{theirs}");
        let names = |part: &str| -> Vec<&str> {
            let names = theirs[part].as_array().unwrap();
            names.iter().map(|it| it.as_str().unwrap()).collect()
        };
        let variables = names("name_variables");
        let _ = write!(text, "\ntype {}\n", theirs["name"].as_str().unwrap());
        if !names("properties").is_empty() {
            let _ = writeln!(text, "properties {}", names("properties").join(" "));
        }
        let parameters = names("parameters").into_iter().map(|it| {
            let star = if variables.contains(&it) { "*" } else { "" };
            format!("{star}{it}")
        });
        let parameters: Vec<String> = parameters.collect();
        let _ = writeln!(text, "parameters {}", parameters.join(" "));
        for pattern in theirs["title_patterns"].as_array().unwrap() {
            text += &title_line(pattern, &variables);
        }
        if theirs["isomorphic"] == json!(false) {
            text += "isomorphic false\n";
        }
    }
    text
}

/// Empty for the pattern that a type without a pattern has.
fn title_line(pattern: &Value, variables: &[&str]) -> String {
    let attributes = pattern[2].as_array().unwrap();
    let attributes: Vec<&str> = attributes.iter().map(|it| it.as_str().unwrap()).collect();
    let (source, flags) = (pattern[0].as_str().unwrap(), pattern[1].as_str().unwrap());
    if source == "(.*)" && flags == "m" && attributes == variables {
        return String::new();
    }
    let flags = if flags.is_empty() { "-" } else { flags };
    format!("title {flags} {} {source}\n", attributes.join(","))
}
