//! The functions that are always there: one file for each family, each with its table.
//!
//! The names are those of Puppet's own `functions` directories; [`stdlib`] holds those of the module
//! stdlib, which stand behind what an environment brings itself.

mod collections;
mod control;
mod files;
mod iterate;
mod logs;
mod numbers;
mod regex;
mod sort;
mod strings;
mod templates;
mod types;
mod variables;
mod versions;

use crate::function::Function;

/// All core functions, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static [Function]> {
    [
        collections::FUNCTIONS,
        control::FUNCTIONS,
        files::FUNCTIONS,
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
