//! Keys by which two resources are the same thing: [`UniquenessKeyPart`].
//!
//! Invariant: a key has one part for each name variable, in the order of their names.

use crate::{ResourceType, TitleError};

/// The value of one name variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UniquenessKeyPart<'r, V> {
    /// The value that the resource sets.
    Value(&'r V),
    /// The title or a part of it.
    Title(&'r str),
    /// Neither the resource nor its title sets it.
    Absent,
}

impl ResourceType {
    /// The values of the name variables of a resource, sorted by the names of the variables
    /// (Puppet's `uniqueness_key`). `parameter` returns the value that the resource sets for an
    /// attribute, and `None` for undef.
    ///
    /// Puppet ignores the key if all parts are absent, if it is the title alone, or if the type
    /// [is not isomorphic](Self::is_isomorphic).
    pub fn uniqueness_key<'r, V>(
        &'r self,
        title: &'r str,
        parameter: impl Fn(&str) -> Option<&'r V>,
    ) -> Result<Vec<UniquenessKeyPart<'r, V>>, TitleError> {
        let parts = self.parse_title(title)?;
        let set = |name: &str| {
            let from_title = || {
                let part = parts.iter().find(|(known, _)| *known == name);
                part.and_then(|(_, value)| value.map(UniquenessKeyPart::Title))
            };
            parameter(name)
                .map(UniquenessKeyPart::Value)
                .or_else(from_title)
        };
        let variable = self.name_variable();
        let mut names: Vec<&str> = self.name_variables().collect();
        names.sort_unstable();
        let name_part = || {
            set(variable)
                .or_else(|| set("name"))
                .unwrap_or(UniquenessKeyPart::Title(title))
        };
        let key = names.into_iter().map(|name| match set(name) {
            Some(part) => part,
            None if name == variable || name == "name" => name_part(),
            None => UniquenessKeyPart::Absent,
        });
        Ok(key.collect())
    }
}
