//! A mapping under construction: [`MappingBuilder`].
//!
//! Invariant: for a duplicate key the last value counts, at the position of the first; entries
//! merged by `<<` override the keys before it and are overridden by those after it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{YamlMapping, YamlTreeNode, YamlValue};

/// The form in which a value is written in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenForm {
    Scalar,
    Sequence,
    Mapping,
    Alias,
}

#[derive(Debug, Default)]
pub(crate) struct MappingBuilder {
    entries: YamlMapping,
    /// Keys that were added by `<<` and not written since.
    merged: HashSet<YamlTreeNode>,
}

impl MappingBuilder {
    /// Adds an entry; returns the line of the same key, if it was written before.
    pub(crate) fn put(&mut self, key: YamlTreeNode, value: YamlTreeNode) -> Option<u32> {
        let (index, earlier) = self.entries.insert_full(key.clone(), value);
        earlier?;
        if self.merged.remove(&key) {
            return None;
        }
        self.entries.get_index(index).map(|(first, _)| first.line)
    }

    /// Adds the entries of the value of `<<`; returns the value if it does not consist of mappings.
    pub(crate) fn merge(
        &mut self,
        value: YamlTreeNode,
        stands: WrittenForm,
    ) -> Result<(), YamlTreeNode> {
        match (&value.value, stands) {
            (YamlValue::Mapping(from), WrittenForm::Alias | WrittenForm::Mapping) => {
                self.take(&Arc::clone(from));
            }
            (YamlValue::Sequence(items), WrittenForm::Sequence)
                if items.iter().all(|item| item.as_mapping().is_some()) =>
            {
                let mut all = YamlMapping::new();
                for item in items.iter().rev().filter_map(YamlTreeNode::as_mapping) {
                    all.extend(item.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
                self.take(&all);
            }
            _ => return Err(value),
        }
        Ok(())
    }

    fn take(&mut self, from: &YamlMapping) {
        for (key, value) in from {
            self.entries.insert(key.clone(), value.clone());
            self.merged.insert(key.clone());
        }
    }

    pub(crate) fn finish(self) -> YamlMapping {
        self.entries
    }
}
