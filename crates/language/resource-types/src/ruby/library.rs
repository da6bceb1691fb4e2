//! Files beside a type file: those that it requires, and its providers. Main types:
//! [`RubyLibrary`], [`LibrarySearch`].
//!
//! Invariant: each file is searched once, and at most [`MAX_SEARCHED_FILES`] are looked for.

use std::collections::HashSet;

use super::lexer::RubyFault;
use super::structure::RubyFile;
use super::token::{Keyword, RubyTokenKind};
use super::words::{DECIDING, DECLARING, find_name, looks_like_declaration};
use crate::defaults::MAX_SEARCHED_FILES;

/// The Ruby files of an environment's modules. A feature is a path below `lib` without `.rb`, such
/// as `puppet/type/file_line`; none of its parts is empty or begins with a dot.
pub trait RubyLibrary {
    /// The text of a feature in the first module that has it; `None` if no module has it.
    fn read(&self, feature: &str) -> Option<String>;

    /// The features directly below `puppet/provider/TYPE` of all modules; Puppet loads no
    /// directories below it.
    fn provider_features(&self, type_name: &str) -> Vec<String>;
}

/// Libraries of Ruby itself, which know nothing of Puppet.
const STANDARD_LIBRARIES: &[&str] = &[
    "base64",
    "benchmark",
    "bigdecimal",
    "cgi",
    "csv",
    "date",
    "delegate",
    "digest",
    "English",
    "erb",
    "etc",
    "facter",
    "fileutils",
    "find",
    "forwardable",
    "hiera",
    "io",
    "ipaddr",
    "json",
    "logger",
    "matrix",
    "net",
    "observer",
    "open-uri",
    "open3",
    "openssl",
    "optparse",
    "ostruct",
    "pathname",
    "pp",
    "prettyprint",
    "psych",
    "puppet",
    "resolv",
    "rexml",
    "ripper",
    "securerandom",
    "semantic_puppet",
    "set",
    "shellwords",
    "singleton",
    "socket",
    "stringio",
    "strscan",
    "syslog",
    "tempfile",
    "time",
    "timeout",
    "tmpdir",
    "tsort",
    "uri",
    "weakref",
    "yaml",
    "zlib",
];

/// The files that were searched on behalf of one type.
pub(super) struct LibrarySearch<'l> {
    library: &'l dyn RubyLibrary,
    type_name: &'l str,
    seen: HashSet<String>,
    /// Features that no module has, of those that a module may have.
    absent: HashSet<String>,
    /// Names of methods and modules that the searched files define.
    defined: HashSet<String>,
}

impl<'l> LibrarySearch<'l> {
    pub(super) fn new(library: &'l dyn RubyLibrary, type_name: &'l str) -> Self {
        Self {
            library,
            type_name,
            seen: HashSet::new(),
            absent: HashSet::new(),
            defined: HashSet::new(),
        }
    }

    /// True if a searched file defines a method or module with this name.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Searches a required file, and those that it requires, for declarations.
    pub(super) fn require(&mut self, feature: &str, line: u32) -> Result<(), RubyFault> {
        let mut waiting = vec![feature.trim_end_matches(".rb").to_owned()];
        let mut is_first = true;
        while let Some(feature) = waiting.pop() {
            if !self.seen.insert(feature.clone()) || self.is_other_type(&feature) {
                is_first = false;
                continue;
            }
            self.check_count(line)?;
            match read_feature(self.library, &feature) {
                Some(text) => {
                    let found = self.search(&feature, &text, &mut waiting);
                    found.map_err(|reason| RubyFault {
                        line,
                        reason: format!("the required file {feature}.rb {reason}"),
                    })?;
                }
                None if is_first && !is_known(&feature) => {
                    let reason = format!("the file requires {feature}, which is in no module");
                    return Err(RubyFault { line, reason });
                }
                None => {}
            }
            is_first = false;
        }
        Ok(())
    }

    /// Searches a file that a module may have.
    pub(super) fn search_if_present(&mut self, feature: &str, line: u32) -> Result<(), RubyFault> {
        if self.seen.contains(feature) || self.absent.contains(feature) {
            return Ok(());
        }
        match read_feature(self.library, feature) {
            Some(_) => self.require(feature, line),
            None => {
                self.absent.insert(feature.to_owned());
                self.check_count(line)
            }
        }
    }

    /// Fails if more files were looked for than [`MAX_SEARCHED_FILES`].
    fn check_count(&self, line: u32) -> Result<(), RubyFault> {
        if self.seen.len() + self.absent.len() <= MAX_SEARCHED_FILES {
            return Ok(());
        }
        let reason = format!("the file requires more than {MAX_SEARCHED_FILES} others");
        Err(RubyFault { line, reason })
    }

    /// Another type's file declares attributes of that type.
    fn is_other_type(&self, feature: &str) -> bool {
        let name = feature.strip_prefix("puppet/type/");
        name.is_some_and(|name| !name.contains('/') && name != self.type_name)
    }

    /// Searches a file; `waiting` receives the features that it requires.
    fn search(
        &mut self,
        feature: &str,
        text: &str,
        waiting: &mut Vec<String>,
    ) -> Result<(), String> {
        let Ok(file) = RubyFile::parse(text) else {
            let mut names = DECLARING.iter().chain(DECIDING);
            return match names.find(|it| text.contains(**it)) {
                Some(name) => Err(format!("cannot be read and contains `{name}`")),
                None => Ok(()),
            };
        };
        if file.documents().any(looks_like_declaration) {
            return Err("contains a text that looks like a declaration".to_owned());
        }
        for token in file.all_tokens() {
            if let Some(name) = find_name(&file, token, DECLARING) {
                return Err(format!("uses `{name}`"));
            }
        }
        if let Some(name) = file.name_in_heredocs(DECLARING) {
            return Err(format!("contains `{name}` in a text with interpolations"));
        }
        for index in file.all() {
            if let Some(name) = defined_method(&file, index).filter(|it| DECIDING.contains(it)) {
                return Err(format!("defines `{name}`"));
            }
            if is_reopening(&file, index) {
                return Err("changes Puppet's own classes".to_owned());
            }
            if file.is_keyword(index, Keyword::Def) || file.is_keyword(index, Keyword::Module) {
                let last = (index + 1..index + 6).take_while(|it| {
                    matches!(
                        file.kind(*it),
                        Some(RubyTokenKind::Identifier | RubyTokenKind::Constant)
                    ) || matches!(file.text(*it), "::" | "." | "self")
                });
                self.defined
                    .extend(last.map(|index| file.text(index).to_owned()));
            }
            waiting.extend(required_feature(&file, index, feature));
        }
        Ok(())
    }
}

/// The text of a feature. A feature that is no path below `lib` is never asked for.
fn read_feature(library: &dyn RubyLibrary, feature: &str) -> Option<String> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
    match feature.split('/').all(is_part) {
        true => library.read(feature),
        false => None,
    }
}

/// The name of the method in `def a`, `def self.a` or `define_method(:a)`.
fn defined_method<'f>(file: &'f RubyFile<'_>, index: usize) -> Option<&'f str> {
    if file.is_keyword(index, Keyword::Def) {
        let is_singleton = file.is_operator(index + 2, ".");
        return Some(file.text(index + 1 + 2 * usize::from(is_singleton)));
    }
    let defines = ["define_method", "define_singleton_method", "alias_method"];
    if !defines.iter().any(|it| file.is_identifier(index, it)) {
        return None;
    }
    let name = index + 1 + usize::from(file.is_operator(index + 1, "("));
    match file.kind(name) {
        Some(RubyTokenKind::Symbol(Some(name)) | RubyTokenKind::Text(Some(name))) => Some(name),
        _ => None,
    }
}

/// The feature of `require 'a'` or `require_relative 'a'` in the file of `from`.
fn required_feature(file: &RubyFile<'_>, index: usize, from: &str) -> Option<String> {
    let argument = index + 1 + usize::from(file.is_operator(index + 1, "("));
    let Some(RubyTokenKind::Text(Some(path))) = file.kind(argument) else {
        return None;
    };
    let path = path.trim_end_matches(".rb");
    if file.is_identifier(index, "require_relative") {
        let directory = from.rsplit_once('/').map_or("", |(directory, _)| directory);
        return resolve_feature(directory, path);
    }
    file.is_identifier(index, "require")
        .then(|| path.to_owned())
}

/// A path below `lib`; `None` if it leaves that directory.
pub(super) fn resolve_feature(base: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = base.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/').filter(|it| !it.is_empty()) {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// True for `class Puppet::Type`, or another class of Puppet that decides about attributes.
fn is_reopening(file: &RubyFile<'_>, index: usize) -> bool {
    file.is_keyword(index, Keyword::Class)
        && file.is_constant(index + 1, "Puppet")
        && file.is_operator(index + 2, "::")
        && ["Type", "Parameter", "Property"].contains(&file.text(index + 3))
        && matches!(file.kind(index + 4), Some(RubyTokenKind::Newline))
}

/// True for Puppet's files and Ruby's own libraries.
fn is_known(feature: &str) -> bool {
    let library = feature.split('/').next().unwrap_or_default();
    STANDARD_LIBRARIES.contains(&library)
}
