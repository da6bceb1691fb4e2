//! The types of modules, read without Ruby.

use std::path::PathBuf;

use oracles::{Puppet, ask_puppet};
use resource_types::{RubyLibrary, StaticReading, read_ruby_type};
use serde_json::{Value, json};

use super::{PUPPET_8, comparable, describe, entries, own};

#[test]
fn types_of_modules_are_read_as_puppet_8_loads_them() {
    let library = Libraries::of_debian();
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
pub(super) struct Libraries {
    pub(super) directories: Vec<PathBuf>,
}

impl Libraries {
    /// Debian's modules, those of `TUTTI_PUPPET_MODULES` (directories, separated by colons), and those
    /// that Puppet's package brings.
    pub(super) fn of_debian() -> Self {
        let mut roots = vec![PathBuf::from("/usr/share/puppet/modules")];
        if let Some(more) = std::env::var_os("TUTTI_PUPPET_MODULES") {
            roots.extend(std::env::split_paths(&more));
        }
        roots.push(own(PUPPET_8).join("usr/share/puppet/vendor_modules"));
        let modules = roots.iter().flat_map(|root| entries(root));
        let directories = modules.map(|module| module.join("lib")).collect();
        Self { directories }
    }

    pub(super) fn type_files(&self) -> Vec<PathBuf> {
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
