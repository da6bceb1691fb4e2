//! A list of environments as it was read: [`EnvironmentDefinition`] of an environment, [`Document`], and why a list cannot be
//! used, [`DefinedError`].

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use environments::EnvironmentName;
use puppetfile::{Mod, Puppetfile};

use crate::source::Base;

/// What a list says of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentDefinition {
    /// Its name here.
    pub environment: EnvironmentName,
    /// The name of the entry.
    pub name: String,
    /// Where its own files are.
    pub base: Base,
    /// The name of its Puppetfile, in its own files.
    pub puppetfile: String,
    /// Modules beside those of the Puppetfile; each says where it goes.
    pub modules: Vec<Mod>,
    /// What becomes of modules that the Puppetfile names too.
    pub conflicts: ModuleConflicts,
    /// The list, for people.
    pub place: String,
}

/// What becomes of a module that both the list and the Puppetfile name. The list's is the one that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModuleConflicts {
    /// It is told.
    #[default]
    OverrideAndWarn,
    /// Nothing is said.
    Override,
    /// The environment is not deployed.
    Error,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DefinedError {
    /// The disk.
    #[error("cannot read {}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was read as a whole.
    #[error("{place} {why}")]
    Document {
        /// The list.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// It is no YAML.
    #[error("{place}: {error}")]
    Yaml {
        /// The list.
        place: String,
        /// What is wrong, and where.
        error: psych::Error,
    },
    /// Something in it.
    #[error("{place}, line {line}: {what}")]
    Entry {
        /// The list.
        place: String,
        /// From 1.
        line: u32,
        /// What is wrong, and what to write instead.
        what: String,
    },
    /// A bug.
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

/// A list that was read.
#[derive(Debug)]
pub(super) struct Document {
    /// For people.
    pub(super) place: String,
    pub(super) text: String,
}

// === impl Document ===

impl Document {
    pub(super) fn new(place: String, bytes: Vec<u8>) -> Result<Self, DefinedError> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { place, text }),
            Err(_) => Err(DefinedError::Document {
                place,
                why: "is not UTF-8".to_owned(),
            }),
        }
    }

    pub(super) fn wrong(&self, line: u32, what: impl Into<String>) -> DefinedError {
        DefinedError::Entry {
            place: self.place.clone(),
            line,
            what: what.into(),
        }
    }
}

// === impl EnvironmentDefinition ===

impl EnvironmentDefinition {
    /// The modules of the environment: those of the list, and of the Puppetfile those that have other names. With
    /// the names that both have.
    pub fn merged(&self, file: &Puppetfile) -> (Puppetfile, Vec<String>) {
        let names: BTreeSet<&str> = self
            .modules
            .iter()
            .map(|it| it.name.name.as_str())
            .collect();
        let of_both = |it: &Mod| names.contains(it.name.name.as_str());
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
