//! What an evaluation read of the facts of a node: [`FactReads`].
//!
//! A result of the evaluation that depends on facts can be used again as long as these have the same
//! values. Invariant: a read that cannot be recorded as a part of the facts is recorded as a read of all
//! of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use pcore::{FastHashSet, Value};

/// Name of the variable with all facts.
pub(crate) const FACTS: &str = "facts";

/// Paths of facts that were read, such as `os`, `family`. A variable of the top scope is recorded as a path
/// of its name alone, since it may be a fact, or may become one. The empty path stands for all facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactReads {
    pub paths: BTreeSet<Vec<Arc<str>>>,
}

/// Records reads of variables of the top scope while they happen.
#[derive(Debug, Default)]
pub(crate) struct FactReadRecorder {
    recorded: RefCell<Option<RecordedReads>>,
}

#[derive(Debug, Default)]
struct RecordedReads {
    names: FastHashSet<Arc<str>>,
    paths: BTreeSet<Vec<Arc<str>>>,
}

impl FactReadRecorder {
    /// Starts recording.
    pub(crate) fn start(&self) {
        *self.recorded.borrow_mut() = Some(RecordedReads::default());
    }

    /// Records the read of a whole variable.
    pub(crate) fn record_variable(&self, name: &str) {
        let mut recorded = self.recorded.borrow_mut();
        let Some(recorded) = &mut *recorded else {
            return;
        };
        if name == FACTS {
            recorded.paths.insert(Vec::new());
        } else if !recorded.names.contains(name) {
            recorded.names.insert(name.into());
        }
    }

    /// Records the read of a part of the facts.
    pub(crate) fn record_path(&self, path: &[Arc<str>]) {
        if let Some(recorded) = &mut *self.recorded.borrow_mut()
            && !recorded.paths.contains(path)
        {
            recorded.paths.insert(path.to_vec());
        }
    }

    /// What was read since the start; nothing if nothing was recorded.
    pub(crate) fn reads(&self) -> FactReads {
        let recorded = self.recorded.borrow();
        let Some(recorded) = &*recorded else {
            return FactReads::default();
        };
        let names = recorded.names.iter().map(|name| vec![Arc::clone(name)]);
        let mut paths: BTreeSet<Vec<Arc<str>>> = names.collect();
        paths.extend(recorded.paths.iter().cloned());
        FactReads { paths }
    }
}

/// The value at the longest part of a path that exists in nested hashes, and that part. A name that is
/// missing in a hash belongs to it, since its absence was read; its value is undef.
pub(crate) fn walk(facts: &Value, path: &[Arc<str>]) -> (Value, usize) {
    let mut here = facts.clone();
    for (walked, name) in path.iter().enumerate() {
        let Value::Hash(entries) = &here else {
            return (here, walked);
        };
        let next = entries.get_str(name).cloned().unwrap_or_default();
        here = next;
    }
    (here, path.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pcore::Value;
    use serde_json::json;

    use super::{FactReadRecorder, walk};

    fn path(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    #[test]
    fn a_path_ends_where_there_is_no_hash() {
        let facts = Value::from_json(&json!({"os": {"family": "Debian"}, "disks": ["a"]}));
        let walked = |names: &[&str]| {
            let (value, length) = walk(&facts, &path(names));
            (value.to_string(), length)
        };
        assert_eq!(walked(&["os", "family"]), ("Debian".to_owned(), 2));
        assert_eq!(walked(&["os", "family", "x"]), ("Debian".to_owned(), 2));
        assert_eq!(walked(&["os", "x"]), (String::new(), 2));
        assert_eq!(walked(&["x", "y"]), (String::new(), 1));
        assert_eq!(walked(&["disks", "0"]), ("[a]".to_owned(), 1));
    }

    #[test]
    fn nothing_is_recorded_before_the_start() {
        let recorder = FactReadRecorder::default();
        recorder.record_variable("a");
        assert!(recorder.reads().paths.is_empty());
        recorder.start();
        recorder.record_variable("b");
        recorder.record_path(&path(&["os", "family"]));
        recorder.record_variable("facts");
        let paths: Vec<_> = recorder.reads().paths.into_iter().collect();
        assert_eq!(paths, [path(&[]), path(&["b"]), path(&["os", "family"])]);
    }
}
