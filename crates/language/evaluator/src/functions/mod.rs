//! The core functions, which are always available: one file for each family, each with its table of
//! functions.
//!
//! The names are those of Puppet's own `functions` directories.

mod collections;
mod control;
mod data;
mod deferred;
mod digest;
mod docs;
mod files;
mod group;
mod iterate;
mod logs;
mod numbers;
mod random;
mod regex;
mod search;
mod shell;
mod sort;
mod sprintf;
mod strings;
mod templates;
mod times;
mod tree;
mod types;
mod variables;
mod versions;

pub(crate) use self::variables::names_of_path;

pub(crate) use self::docs::DOCS;
use crate::function::FunctionSpec;

/// All core functions, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static [FunctionSpec]> {
    [
        collections::FUNCTIONS,
        control::FUNCTIONS,
        tree::FUNCTIONS,
        sprintf::FUNCTIONS,
        times::FUNCTIONS,
        shell::FUNCTIONS,
        random::FUNCTIONS,
        digest::FUNCTIONS,
        data::FUNCTIONS,
        files::FUNCTIONS,
        group::FUNCTIONS,
        search::FUNCTIONS,
        iterate::FUNCTIONS,
        logs::FUNCTIONS,
        numbers::FUNCTIONS,
        regex::FUNCTIONS,
        sort::FUNCTIONS,
        strings::FUNCTIONS,
        templates::FUNCTIONS,
        types::FUNCTIONS,
        variables::FUNCTIONS,
        versions::FUNCTIONS,
    ]
    .into_iter()
}
