//! Files of an environment that define functions in Ruby: [`list_ruby_functions`]. No Ruby is run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::defaults::{FUNCTION_DEPTH_MAX, FUNCTION_FILES_MAX};
use crate::environment::RubyEnvironment;

/// API that a function in Ruby is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubyFunctionApi {
    /// `Puppet::Parser::Functions.newfunction`, below `lib/puppet/parser/functions`.
    V3,
    /// `Puppet::Functions.create_function`, below `lib/puppet/functions`.
    V4,
}

/// A file that defines a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyFunctionFile {
    /// Name as manifests call it, with `::`.
    pub name: String,
    pub api: RubyFunctionApi,
    /// Name of its module; `None` if it belongs to the environment.
    pub module: Option<String>,
    pub file: PathBuf,
}

/// Lists the functions of an environment and its modules: each name once per API, the module first in the
/// modulepath wins. Directories that cannot be read have no functions.
#[must_use]
pub fn list_ruby_functions(environment: &RubyEnvironment) -> Vec<RubyFunctionFile> {
    let mut list = FunctionList::default();
    list.add_library(&environment.directory, None);
    let mut seen = std::collections::HashSet::new();
    for directory in &environment.module_directories {
        for (name, path) in entries(directory) {
            if path.is_dir() && seen.insert(name.clone()) {
                list.add_library(&path, Some(&name));
            }
        }
    }
    list.functions
}

#[derive(Debug, Default)]
struct FunctionList {
    functions: Vec<RubyFunctionFile>,
}

// === impl FunctionList ===

impl FunctionList {
    fn add_library(&mut self, root: &Path, module: Option<&str>) {
        let library = root.join("lib/puppet");
        let functions = library.join("functions");
        self.add_directory(&functions, "", RubyFunctionApi::V4, module, 0);
        let functions = library.join("parser/functions");
        self.add_directory(&functions, "", RubyFunctionApi::V3, module, 0);
    }

    fn add_directory(
        &mut self,
        directory: &Path,
        prefix: &str,
        api: RubyFunctionApi,
        module: Option<&str>,
        depth: usize,
    ) {
        for (name, file) in entries(directory) {
            if self.functions.len() >= FUNCTION_FILES_MAX {
                return;
            }
            if let Some(stem) = name.strip_suffix(".rb") {
                self.functions.push(RubyFunctionFile {
                    name: format!("{prefix}{stem}"),
                    api,
                    module: module.map(str::to_owned),
                    file,
                });
            } else if depth < FUNCTION_DEPTH_MAX && file.is_dir() {
                let prefix = format!("{prefix}{name}::");
                self.add_directory(&file, &prefix, api, module, depth + 1);
            }
        }
    }
}

/// Entries of a directory in the order of their names, without those whose name is not UTF-8.
fn entries(directory: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().into_string().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}
