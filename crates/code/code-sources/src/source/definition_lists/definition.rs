//! A parsed list of environments: [`EnvironmentDefinition`] of an environment,
//! [`DefinitionDocument`], and the error for an unusable list, [`DefinitionListError`].

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use environments::EnvironmentName;
use puppetfile::{ModuleDeclaration, Puppetfile};

use crate::source::EnvironmentBase;

/// The definition of an environment in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentDefinition {
    /// Name of the environment on this server.
    pub environment: EnvironmentName,
    /// Name of the entry in the list.
    pub name: String,
    /// Location of the environment's own files.
    pub base: EnvironmentBase,
    /// Name of its Puppetfile, within its own files.
    pub puppetfile: String,
    /// Modules in addition to those of the Puppetfile; each with its directory.
    pub modules: Vec<ModuleDeclaration>,
    /// Treatment of modules that the Puppetfile declares too.
    pub conflicts: ModuleConflicts,
    /// The list, for messages.
    pub location: String,
}

/// Treatment of a module that both the list and the Puppetfile declare. The list's module is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModuleConflicts {
    /// The list's module is used, with a warning.
    #[default]
    OverrideAndWarn,
    /// The list's module is used, without a warning.
    Override,
    /// The environment is not deployed.
    Error,
}

/// The error for an unusable list.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionListError {
    /// The list cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the read.
        source: io::Error,
    },
    /// The list as a whole is invalid.
    #[error("{place} {why}")]
    Document {
        /// The list, for messages.
        place: String,
        /// Description of the error.
        why: String,
    },
    /// The list is not YAML.
    #[error("{place}: {error}")]
    Yaml {
        /// The list, for messages.
        place: String,
        /// Description and position of the error.
        error: psych::Error,
    },
    /// An entry of the list is invalid.
    #[error("{place}, line {line}: {what}")]
    Entry {
        /// The list, for messages.
        place: String,
        /// Line of the entry, counted from 1.
        line: u32,
        /// Description of the error, and the remedy.
        what: String,
    },
    /// An internal error, which is a bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

/// A list that was read but not parsed.
#[derive(Debug)]
pub(super) struct DefinitionDocument {
    /// The list, for messages.
    pub(super) location: String,
    pub(super) text: String,
}

// === impl DefinitionDocument ===

impl DefinitionDocument {
    pub(super) fn new(place: String, bytes: Vec<u8>) -> Result<Self, DefinitionListError> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self {
                location: place,
                text,
            }),
            Err(_) => Err(DefinitionListError::Document {
                place,
                why: "is not UTF-8".to_owned(),
            }),
        }
    }

    pub(super) fn error_at(&self, line: u32, what: impl Into<String>) -> DefinitionListError {
        DefinitionListError::Entry {
            place: self.location.clone(),
            line,
            what: what.into(),
        }
    }
}

// === impl EnvironmentDefinition ===

impl EnvironmentDefinition {
    /// The modules of the environment: those of the list, and those of the Puppetfile with other
    /// names. Also returns the names that both declare.
    pub fn merge_modules(&self, file: &Puppetfile) -> (Puppetfile, Vec<String>) {
        let names: BTreeSet<&str> = self
            .modules
            .iter()
            .map(|it| it.name.name.as_str())
            .collect();
        let of_both = |it: &ModuleDeclaration| names.contains(it.name.name.as_str());
        let both = file.mods.iter().filter(|it| of_both(it));
        let both = both.map(|it| it.name.name.clone()).collect();
        let others = file.mods.iter().filter(|it| !of_both(it));
        let merged = Puppetfile {
            forge: file.forge.clone(),
            moduledir: file.moduledir.clone(),
            mods: self.modules.iter().chain(others).cloned().collect(),
        };
        (merged, both)
    }
}
