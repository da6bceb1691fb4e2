//! The types that Puppet's packages bring: [`core_type`].
//!
//! `core_types.txt` is written by `cargo xtask resource-types`. Each type has the lines `type NAME`,
//! `properties NAMES`, `parameters NAMES` with a star at each name variable, and, where they differ
//! from the defaults, `title FLAGS ATTRIBUTES PATTERN` and `isomorphic false`.
//!
//! Invariant: the table is read once, and a test reads each line of it.

use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use ruby_regex::RegexFlags;

use crate::{ResourceType, ResourceTypeBuilder, ResourceTypeOrigin, TitlePattern};

const TABLE: &str = include_str!("core_types.txt");

static CORE_TYPES: LazyLock<IndexMap<Box<str>, Arc<ResourceType>>> =
    LazyLock::new(|| read_table(TABLE).unwrap_or_default());

/// The type with this name in lower case, of Puppet itself or of the modules in its package.
#[must_use]
pub fn core_type(name: &str) -> Option<&'static Arc<ResourceType>> {
    CORE_TYPES.get(name)
}

/// All types of Puppet itself and of the modules in its package.
pub fn core_types() -> impl ExactSizeIterator<Item = &'static Arc<ResourceType>> {
    CORE_TYPES.values()
}

/// `None` if a line cannot be read.
fn read_table(table: &str) -> Option<IndexMap<Box<str>, Arc<ResourceType>>> {
    let mut types = IndexMap::new();
    for block in table.split("\n\n").filter(|it| !it.starts_with('#')) {
        let built = read_block(block)?;
        types.insert(built.name().into(), Arc::new(built));
    }
    Some(types)
}

fn read_block(block: &str) -> Option<ResourceType> {
    let mut lines = block.lines();
    let name = lines.next()?.strip_prefix("type ")?;
    let mut builder = ResourceTypeBuilder::new(name, ResourceTypeOrigin::Ruby);
    let mut patterns = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "properties" => rest
                .split(' ')
                .for_each(|name| builder.add_property(name, false)),
            "parameters" => rest.split(' ').for_each(|name| {
                let plain = name.strip_prefix('*');
                builder.add_parameter(plain.unwrap_or(name), plain.is_some());
            }),
            "title" => patterns.push(read_pattern(rest)?),
            "isomorphic" => builder.set_isomorphic(rest == "true"),
            _ => return None,
        }
    }
    if !patterns.is_empty() {
        builder.set_title_patterns(patterns);
    }
    builder.build().ok()
}

fn read_pattern(text: &str) -> Option<TitlePattern> {
    let (flags, rest) = text.split_once(' ')?;
    let (attributes, source) = rest.split_once(' ')?;
    let flags = RegexFlags {
        extended: flags.contains('x'),
        ignore_case: flags.contains('i'),
        multiline: flags.contains('m'),
    };
    let attributes: Vec<&str> = attributes.split(',').collect();
    TitlePattern::new(source, flags, &attributes).ok()
}

#[cfg(test)]
mod tests {
    use super::{TABLE, read_table};

    #[test]
    fn each_line_of_the_table_is_read() {
        let types = read_table(TABLE).unwrap();
        assert_eq!(TABLE.matches("\ntype ").count(), types.len());
        assert!(types.len() > 20, "{} types", types.len());
    }
}
