//! Values of the match variables `$0`, `$1` and so on. Main type: [`RegexMatch`].

use std::sync::Arc;

use pcore::Value;

/// The groups of the last match.
#[derive(Debug)]
pub(crate) struct RegexMatch {
    groups: Vec<Option<Arc<str>>>,
}

impl RegexMatch {
    pub(crate) fn new(captures: &ruby_regex::RegexCaptures<'_>) -> Self {
        Self {
            groups: captures.iter().map(|group| group.map(Arc::from)).collect(),
        }
    }

    /// The groups of a match outside of the evaluation.
    pub(crate) fn from_groups(groups: Vec<Option<Arc<str>>>) -> Self {
        Self { groups }
    }

    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> u64 {
        let groups = self.groups.iter().flatten();
        groups.map(|group| group.len() as u64).sum()
    }

    pub(crate) fn group(&self, number: u64) -> Value {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.groups.get(number)?.clone())
            .map_or(Value::Undef, Value::Str)
    }
}
