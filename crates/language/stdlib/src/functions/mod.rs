//! The functions, one file for each family, each with its table.

mod affixes;
mod arrays;
mod booleans;
mod catalog;
mod code_literals;
mod deletes;
mod deprecated;
mod dig;
mod digests;
mod docs;
mod encode;
mod facts;
mod files;
mod json;
mod merge;
mod network;
mod numbers;
mod parse;
mod passwords;
mod paths;
mod pick;
mod random;
mod ranges;
mod refused_functions;
mod sensitive;
mod shell;
mod strings;
mod templates;
mod times;
mod toml;
mod types;
mod validate;
mod validate_numbers;
mod yaml;

use evaluator::function::FunctionSpec;

pub(crate) use self::docs::DOCS;

/// The tables of all functions, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static [FunctionSpec]> {
    [
        affixes::FUNCTIONS,
        arrays::FUNCTIONS,
        booleans::FUNCTIONS,
        catalog::FUNCTIONS,
        code_literals::FUNCTIONS,
        deletes::FUNCTIONS,
        deprecated::FUNCTIONS,
        deprecated::OTHERS,
        dig::FUNCTIONS,
        dig::NEW,
        digests::FUNCTIONS,
        digests::OLD,
        encode::FUNCTIONS,
        encode::ESCAPES,
        facts::FUNCTIONS,
        files::FUNCTIONS,
        json::FUNCTIONS,
        merge::FUNCTIONS,
        merge::DEEP,
        network::FUNCTIONS,
        network::NEW,
        numbers::FUNCTIONS,
        parse::FUNCTIONS,
        parse::NEW,
        passwords::FUNCTIONS,
        paths::FUNCTIONS,
        paths::NEW,
        pick::FUNCTIONS,
        random::FUNCTIONS,
        random::NEW,
        ranges::FUNCTIONS,
        sensitive::FUNCTIONS,
        shell::FUNCTIONS,
        shell::ESCAPES,
        strings::FUNCTIONS,
        strings::NEW,
        templates::FUNCTIONS,
        times::FUNCTIONS,
        toml::FUNCTIONS,
        types::FUNCTIONS,
        types::OLD,
        validate::FUNCTIONS,
        validate::NEW,
        refused_functions::FUNCTIONS,
        yaml::FUNCTIONS,
    ]
    .into_iter()
}
