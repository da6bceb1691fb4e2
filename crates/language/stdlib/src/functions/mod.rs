//! The functions, one file for each family, each with its table.

mod affixes;
mod arrays;
mod booleans;
mod catalog;
mod codes;
mod deletes;
mod deprecated;
mod dig;
mod digests;
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
mod picks;
mod random;
mod ranges;
mod sensitive;
mod shell;
mod strings;
mod templates;
mod times;
mod toml;
mod types;
mod validate;
mod validate_numbers;
mod wrong_place;
mod yaml;

use evaluator::function::FunctionSpec;

/// The tables of all functions, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static [FunctionSpec]> {
    [
        affixes::FUNCTIONS,
        arrays::FUNCTIONS,
        booleans::FUNCTIONS,
        catalog::FUNCTIONS,
        codes::FUNCTIONS,
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
        picks::FUNCTIONS,
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
        wrong_place::FUNCTIONS,
        yaml::FUNCTIONS,
    ]
    .into_iter()
}
