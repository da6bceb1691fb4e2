//! `resource-types` against Puppet 8: the table of the core types, and types of modules read without
//! Ruby.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oracles::{Puppet, ask_puppet};
use resource_types::{
    METAPARAMETERS, ResourceAttributeKind, ResourceType, RubyLibrary, StaticReading, core_type,
    core_types, read_ruby_type,
};
use serde_json::{Value, json};

/// Relative to this crate, as in `oracles`.
const PUPPET_8: &str = "../../target/oracles/puppet8";
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

/// Debian's modules, and those below the directories in `TUTTI_PUPPET_MODULES` (separated by colons).
#[test]
fn types_of_modules_are_read_as_puppet_8_loads_them() {
    let mut roots = vec![PathBuf::from("/usr/share/puppet/modules")];
    if let Some(more) = std::env::var_os("TUTTI_PUPPET_MODULES") {
        roots.extend(std::env::split_paths(&more));
    }
    roots.push(own(PUPPET_8).join("usr/share/puppet/vendor_modules"));
    let modules = roots.iter().flat_map(|root| entries(root));
    let library = Libraries {
        directories: modules.map(|module| module.join("lib")).collect(),
    };
    let files = library.type_files();
    let types: Vec<Value> = files
        .iter()
        .map(|file| json!({"name": file.file_stem().unwrap().to_str(), "file": file}))
        .collect();
    let question = json!({"libraries": library.directories, "types": types});
    let answer = ask_puppet(Puppet::Eight, "resource_types.rb", &question).unwrap();
    let (mut complete, mut different) = (0, Vec::new());
    for (file, theirs) in files.iter().zip(answer["types"].as_array().unwrap()) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read(file).unwrap();
        match read_ruby_type(name, &String::from_utf8_lossy(&text), &library) {
            StaticReading::Complete(ours) => {
                complete += 1;
                let (ours, theirs) = (describe(&ours), comparable(theirs));
                if ours != theirs {
                    different.push(format!("{}: ours {ours} Puppet {theirs}", file.display()));
                }
            }
            StaticReading::NeedsRuby { reason, line } => {
                eprintln!("needs Ruby: {} line {line}: {reason}", file.display());
            }
        }
    }
    let share = f64::from(complete) / files.len() as f64;
    eprintln!(
        "{complete} of {} types ({:.1} %) read without Ruby",
        files.len(),
        share * 100.0
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(share > 0.85, "only {complete} of {} are read", files.len());
}

/// The `lib` directories of modules.
struct Libraries {
    directories: Vec<PathBuf>,
}

impl Libraries {
    fn type_files(&self) -> Vec<PathBuf> {
        let directories = self.directories.iter();
        let mut files: Vec<PathBuf> = directories
            .flat_map(|library| entries(&library.join("puppet/type")))
            .collect();
        files.retain(|file| file.extension().is_some_and(|it| it == "rb"));
        files
    }
}

impl RubyLibrary for Libraries {
    fn read(&self, feature: &str) -> Option<String> {
        let mut paths = self.directories.iter();
        paths.find_map(|library| {
            std::fs::read_to_string(library.join(feature).with_extension("rb")).ok()
        })
    }

    fn provider_features(&self, type_name: &str) -> Vec<String> {
        let below = format!("puppet/provider/{type_name}");
        let directories = self.directories.iter();
        let files = directories.flat_map(|library| entries(&library.join(&below)));
        let stems = files.filter_map(|file| {
            let name = file.file_name()?.to_str()?;
            name.strip_suffix(".rb")
                .map(|stem| format!("{below}/{stem}"))
        });
        stems.collect()
    }
}

fn ask_about_core() -> Value {
    let puppet = own(PUPPET_8).join("usr");
    let libraries: Vec<PathBuf> = entries(&puppet.join("share/puppet/vendor_modules"))
        .iter()
        .map(|module| module.join("lib"))
        .collect();
    let mut files = entries(&puppet.join("lib/ruby/vendor_ruby/puppet/type"));
    for library in &libraries {
        files.extend(entries(&library.join("puppet/type")));
    }
    files.retain(|file| file.extension().is_some_and(|it| it == "rb"));
    let types: Vec<Value> = files
        .iter()
        .map(|file| json!({"name": file.file_stem().unwrap().to_str()}))
        .collect();
    let question = json!({"libraries": libraries, "types": types});
    ask_puppet(Puppet::Eight, "resource_types.rb", &question).unwrap()
}

/// The files and directories in a directory, sorted; none if it does not exist.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn describe(ours: &ResourceType) -> Value {
    let of_kind = |kind: ResourceAttributeKind| -> Vec<&str> {
        let attributes = ours.attributes().filter(|(_, it)| *it == kind);
        attributes.map(|(name, _)| name).collect()
    };
    let patterns = ours.title_patterns().unwrap_or_default().iter().map(|it| {
        let flags = [
            (it.flags().multiline, "m"),
            (it.flags().ignore_case, "i"),
            (it.flags().extended, "x"),
        ];
        let flags: String = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
        json!([it.source(), flags, it.attributes().collect::<Vec<_>>()])
    });
    json!({
        "name": ours.name(),
        "properties": of_kind(ResourceAttributeKind::Property),
        "parameters": of_kind(ResourceAttributeKind::Parameter),
        "name_variables": ours.name_variables().collect::<Vec<_>>(),
        "title_patterns": patterns.collect::<Vec<_>>(),
        "isomorphic": ours.is_isomorphic(),
    })
}

/// The parts of Puppet's answer that [`describe`] has.
fn comparable(theirs: &Value) -> Value {
    let parts = [
        "name",
        "properties",
        "parameters",
        "name_variables",
        "title_patterns",
        "isomorphic",
    ];
    parts.iter().map(|it| (*it, theirs[*it].clone())).collect()
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
